import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { DeadLetterHop, HeaderProfile } from './header-profile.js';
import { HEADER_PROFILES, originalHeadersOf } from './header-profiles.js';
import { DEAD_LETTER_REDUCTIONS } from './header-reductions.js';
import { headerVariants, type HeaderVariant } from './header-variants.js';

/** Writes the failure report of a dead letter into its headers. */
export class DltHeaderEnricher {
  readonly #profiles: readonly HeaderProfile[];

  constructor(profiles: readonly HeaderProfileName[]) {
    this.#profiles = profiles.map((name) => HEADER_PROFILES[name]);
  }

  /**
   * Yields variants of the headers, from the largest to the smallest. The last one has only the
   * record's own headers. The first variant that fits is written.
   */
  *variants(report: FailureReport, hop: DeadLetterHop): Generator<HeaderVariant, void, undefined> {
    const profiles = this.#profiles;
    yield* headerVariants({ report, profiles }, hop, DEAD_LETTER_REDUCTIONS);
    const headers = originalHeadersOf(report, profiles);
    yield { headers, without: ['all headers of its report'] };
  }
}
