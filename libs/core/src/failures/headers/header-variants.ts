import type { RecordHeader } from '@nest-event-bus/broker';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { controlHeaders } from './control-headers.js';
import type { HeaderProfile, Hop } from './header-profile.js';
import { originalHeaders, writtenProfiles } from './header-profiles.js';

/** The headers of a record, and the names of the parts that were removed so that it fits. */
export interface HeaderVariant {
  readonly headers: readonly RecordHeader[];
  readonly without: readonly string[];
}

/** A report and the profiles that write it. Without profiles there are only the control headers. */
export interface HeaderContent {
  readonly report: FailureReport;
  readonly profiles: readonly HeaderProfile[];
}

/** A step that removes a part of the headers. Each step starts from the result of the one before. */
export interface Reduction {
  /** Name of the removed part, for the log. */
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

/** Removes the other profiles, which repeat what the bus's own contains. */
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

/** Yields all headers first, then smaller and smaller variants. Each is made only when it is needed. */
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
