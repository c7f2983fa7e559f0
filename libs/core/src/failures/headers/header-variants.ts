import type { RecordHeader } from '@nest-event-bus/broker';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import type { FailureStory } from '../report/failure-report.js';
import { controlHeaders } from './control-headers.js';
import type { HeaderProfile, Hop } from './header-profile.js';
import { originalHeaders, profilesTold } from './header-profiles.js';

/** The headers of a record, and what was left out of them so that it fits. */
export interface HeaderVariant {
  readonly headers: readonly RecordHeader[];
  readonly without: readonly string[];
}

/** What is told, and in which profiles. Without any there are the control headers alone. */
export interface Telling {
  readonly story: FailureStory;
  readonly profiles: readonly HeaderProfile[];
}

/** A step that makes it less; each goes on from where the one before it was. */
export interface Reduction {
  /** What is gone then, for the log. */
  readonly name: string;
  readonly reduce: (telling: Telling) => Telling;
}

export const withoutStack: Reduction = {
  name: 'stack',
  reduce: ({ story, ...telling }) => {
    const { stack: _, ...description } = story.description;
    return { ...telling, story: { ...story, description } };
  },
};

export const withoutMessage: Reduction = {
  name: 'message',
  reduce: ({ story, ...telling }) => {
    const { message: _, ...description } = story.description;
    const deserialization = story.deserialization && withoutReason(story.deserialization);
    return { ...telling, story: { ...story, description, deserialization } };
  },
};

function withoutReason(failure: DeserializationFailure): DeserializationFailure {
  const { reason: _, ...rest } = failure;
  return rest;
}

/** Other profiles tell again what the bus's own has told. */
export const withoutMirrors: Reduction = {
  name: 'further profiles',
  reduce: ({ story, profiles }) => ({
    story,
    profiles: profiles.filter(({ name }) => name === 'eventbus'),
  }),
};

export const withoutProfiles: Reduction = {
  name: 'all but the control headers',
  reduce: ({ story }) => ({ story, profiles: [] }),
};

/** The whole telling first, then whatever is smaller than the one before. Made only as far as somebody asks. */
export function* headerVariants(
  whole: Telling,
  hop: Hop,
  reductions: readonly Reduction[],
): Generator<HeaderVariant, void, undefined> {
  const brought = whole.story.record.headers;
  const ours = profilesTold(brought, whole.profiles);
  const told = ({ story, profiles }: Telling): readonly RecordHeader[] => [
    ...controlHeaders(story, hop),
    ...profiles.flatMap((profile) => profile.write(story, hop)),
  ];
  let telling = whole;
  let own = told(telling);
  const without: string[] = [];
  const withOriginal = (): readonly RecordHeader[] => [
    ...originalHeaders(brought, [...telling.profiles, ...ours]),
    ...own,
  ];
  yield { headers: withOriginal(), without: [] };
  for (const { name, reduce } of reductions) {
    telling = reduce(telling);
    const less = told(telling);
    if (sizeOf(less) === sizeOf(own)) continue;
    own = less;
    without.push(name);
    yield { headers: withOriginal(), without: [...without] };
  }
}

const sizeOf = (headers: readonly RecordHeader[]): number =>
  headers.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0) + 2, 0);
