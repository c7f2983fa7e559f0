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

/** Puts what a retry topic's reader has to know into the headers of a record. */
export class RetryHeaderEnricher {
  readonly #profiles: readonly HeaderProfile[];

  /** The bus's own is always among them: the dead letter that may come of it tells of all tiers. */
  constructor(profiles: readonly HeaderProfileName[]) {
    const all = new Set<HeaderProfileName>(['eventbus', ...profiles]);
    this.#profiles = [...all].map((name) => HEADER_PROFILES[name]);
  }

  /** The last one has the control headers alone, without which no tier could go on with the record. */
  variants(report: FailureReport, hop: RetryHop): Generator<HeaderVariant, void, undefined> {
    return headerVariants({ report, profiles: this.#profiles }, hop, REDUCTIONS);
  }
}
