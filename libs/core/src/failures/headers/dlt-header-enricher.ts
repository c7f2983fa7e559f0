import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import type { DeadLetterHop, HeaderProfile } from './header-profile.js';
import { HEADER_PROFILES, originalHeaders, writtenProfiles } from './header-profiles.js';
import {
  headerVariants,
  withoutMessage,
  withoutExtraProfiles,
  withoutProfiles,
  withoutStack,
  type HeaderVariant,
  type Reduction,
} from './header-variants.js';

const withoutTierHistory: Reduction = {
  name: 'tier history',
  reduce: ({ report, profiles }) => ({ report: { ...report, tierHistory: [] }, profiles }),
};

const REDUCTIONS = [
  withoutStack,
  withoutMessage,
  withoutExtraProfiles,
  withoutTierHistory,
  withoutProfiles,
] as const;

/** Writes the failure report of a dead letter into its headers. */
export class DltHeaderEnricher {
  readonly #profiles: readonly HeaderProfile[];

  constructor(profiles: readonly HeaderProfileName[]) {
    this.#profiles = profiles.map((name) => HEADER_PROFILES[name]);
  }

  /** Yields all headers first, and the record without any of them last: one variant has to fit. */
  *variants(report: FailureReport, hop: DeadLetterHop): Generator<HeaderVariant, void, undefined> {
    const profiles = this.#profiles;
    yield* headerVariants({ report, profiles }, hop, REDUCTIONS);
    const brought = report.record.headers;
    const headers = originalHeaders(brought, writtenProfiles(brought, profiles));
    yield { headers, without: ['all headers of its report'] };
  }
}
