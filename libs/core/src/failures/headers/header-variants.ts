import type { RecordHeader } from '@nest-event-bus/broker';
import type { Hop } from './header-profile.js';
import { archiveHeaders, originalHeadersOf } from './header-profiles.js';
import type { HeaderContent, Reduction } from './header-reductions.js';
import { controlHeaders } from './x-eventbus-headers.js';

/**
 * A set of headers for a record, and the names of the parts that were removed so that the record
 * fits.
 */
export interface HeaderVariant {
  readonly headers: readonly RecordHeader[];
  readonly without: readonly string[];
}

/**
 * Yields all headers first, then smaller and smaller variants. Each variant is computed when it is
 * requested.
 */
export function* headerVariants(
  whole: HeaderContent,
  hop: Hop,
  reductions: readonly Reduction[],
): Generator<HeaderVariant, void, undefined> {
  const original = originalHeadersOf(whole.report, whole.profiles);
  const headersOf = ({ report, profiles }: HeaderContent): readonly RecordHeader[] => [
    ...controlHeaders(report, hop, profiles),
    ...profiles.flatMap((profile) => profile.write(report, hop)),
  ];
  let content = whole;
  let added = headersOf(content);
  const without: string[] = [];
  const withOriginal = (): readonly RecordHeader[] => [
    ...archiveHeaders(original, content.profiles),
    ...added,
  ];
  yield { headers: withOriginal(), without: [] };
  for (const { name, reduce } of reductions) {
    content = reduce(content);
    const reduced = headersOf(content);
    if (sizeOf(reduced) === sizeOf(added)) continue;
    added = reduced;
    without.push(name);
    yield { headers: withOriginal(), without: [...without] };
  }
}

const sizeOf = (headers: readonly RecordHeader[]): number =>
  headers.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0) + 2, 0);
