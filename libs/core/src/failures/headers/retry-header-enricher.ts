import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { HeaderProfile, RetryHop } from './header-profile.js';
import { HEADER_PROFILES } from './header-profiles.js';
import { RETRY_REDUCTIONS } from './header-reductions.js';
import { headerVariants, type HeaderVariant } from './header-variants.js';

/** Writes the headers that the reader of a retry topic needs. */
export class RetryHeaderEnricher {
  readonly #profiles: readonly HeaderProfile[];

  /**
   * Always includes the bus's own profile, so that a later dead letter contains the history of all
   * tiers.
   */
  constructor(profiles: readonly HeaderProfileName[]) {
    const all = new Set<HeaderProfileName>(['eventbus', ...profiles]);
    this.#profiles = [...all].map((name) => HEADER_PROFILES[name]);
  }

  /**
   * Yields the variants of the headers. The last one has only the control headers, which the reader
   * of the retry topic cannot do without.
   */
  variants(report: FailureReport, hop: RetryHop): Generator<HeaderVariant, void, undefined> {
    return headerVariants({ report, profiles: this.#profiles }, hop, RETRY_REDUCTIONS);
  }
}
