import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import type { FailureStory } from '../report/failure-report.js';
import type { DeadLetterHop, HeaderProfile } from './header-profile.js';
import { HEADER_PROFILES, originalHeaders, profilesTold } from './header-profiles.js';
import {
  headerVariants,
  withoutMessage,
  withoutMirrors,
  withoutProfiles,
  withoutStack,
  type HeaderVariant,
  type Reduction,
} from './header-variants.js';

const withoutTierHistory: Reduction = {
  name: 'tier history',
  reduce: ({ story, profiles }) => ({ story: { ...story, tierHistory: [] }, profiles }),
};

const REDUCTIONS = [
  withoutStack,
  withoutMessage,
  withoutMirrors,
  withoutTierHistory,
  withoutProfiles,
] as const;

/** Puts the story of a dead letter into its headers. */
export class DltHeaderEnricher {
  readonly #profiles: readonly HeaderProfile[];

  constructor(profiles: readonly HeaderProfileName[]) {
    this.#profiles = profiles.map((name) => HEADER_PROFILES[name]);
  }

  /** From everything there is to tell down to the record as it was written first: one of them has to fit. */
  *variants(story: FailureStory, hop: DeadLetterHop): Generator<HeaderVariant, void, undefined> {
    const profiles = this.#profiles;
    yield* headerVariants({ story, profiles }, hop, REDUCTIONS);
    const brought = story.record.headers;
    const headers = originalHeaders(brought, profilesTold(brought, profiles));
    yield { headers, without: ['all headers of its story'] };
  }
}
