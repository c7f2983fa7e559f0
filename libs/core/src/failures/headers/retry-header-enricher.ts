import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { HeaderProfile, RetryHop } from './header-profile.js';
import { HEADER_PROFILES } from './header-profiles.js';
import {
  headerVariants,
  withoutMessage,
  withoutExtraProfiles,
  withoutProfiles,
  withoutStack,
  type HeaderVariant,
} from './header-variants.js';

const REDUCTIONS = [withoutStack, withoutMessage, withoutExtraProfiles, withoutProfiles] as const;

/** Writes the headers that the reader of a retry topic needs. */
export class RetryHeaderEnricher {
  readonly #profiles: readonly HeaderProfile[];

  /** Always includes the bus's own profile, so that a later dead letter contains the history of all tiers. */
  constructor(profiles: readonly HeaderProfileName[]) {
    const all = new Set<HeaderProfileName>(['eventbus', ...profiles]);
    this.#profiles = [...all].map((name) => HEADER_PROFILES[name]);
  }

  /** Yields the control headers alone as the last variant. No tier could continue with fewer. */
  variants(report: FailureReport, hop: RetryHop): Generator<HeaderVariant, void, undefined> {
    return headerVariants({ report, profiles: this.#profiles }, hop, REDUCTIONS);
  }
}
