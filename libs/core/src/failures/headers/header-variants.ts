import type { RecordHeader } from '@nest-event-bus/broker';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { controlHeaders } from './control-headers.js';
import type { HeaderProfile, Hop } from './header-profile.js';
import { originalHeaders, writtenProfiles } from './header-profiles.js';

/** The headers of a record, and what was left out of them so that it fits. */
export interface HeaderVariant {
  readonly headers: readonly RecordHeader[];
  readonly without: readonly string[];
}

/** What is told, and in which profiles. Without any there are the control headers alone. */
export interface HeaderContent {
  readonly report: FailureReport;
  readonly profiles: readonly HeaderProfile[];
}

/** A step that makes it less; each goes on from where the one before it was. */
export interface Reduction {
  /** What is gone then, for the log. */
  readonly name: string;
  readonly reduce: (telling: HeaderContent) => HeaderContent;
}

export const withoutStack: Reduction = {
  name: 'stack',
  reduce: ({ report, ...telling }) => {
    const { stack: _, ...description } = report.description;
    return { ...telling, report: { ...report, description } };
  },
};

export const withoutMessage: Reduction = {
  name: 'message',
  reduce: ({ report, ...telling }) => {
    const { message: _, ...description } = report.description;
    const deserialization = report.deserialization && withoutReason(report.deserialization);
    return { ...telling, report: { ...report, description, deserialization } };
  },
};

function withoutReason(failure: DeserializationFailure): DeserializationFailure {
  const { reason: _, ...rest } = failure;
  return rest;
}

/** Other profiles tell again what the bus's own has told. */
export const withoutExtraProfiles: Reduction = {
  name: 'further profiles',
  reduce: ({ report, profiles }) => ({
    report,
    profiles: profiles.filter(({ name }) => name === 'eventbus'),
  }),
};

export const withoutProfiles: Reduction = {
  name: 'all but the control headers',
  reduce: ({ report }) => ({ report, profiles: [] }),
};

/** The whole telling first, then whatever is smaller than the one before. Made only as far as somebody asks. */
export function* headerVariants(
  whole: HeaderContent,
  hop: Hop,
  reductions: readonly Reduction[],
): Generator<HeaderVariant, void, undefined> {
  const brought = whole.report.record.headers;
  const ours = writtenProfiles(brought, whole.profiles);
  const told = ({ report, profiles }: HeaderContent): readonly RecordHeader[] => [
    ...controlHeaders(report, hop),
    ...profiles.flatMap((profile) => profile.write(report, hop)),
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
