import type { MemberHistory } from '../support/ownership-periods.js';

/** A commit beyond a record that no member had handled at that time. */
export interface EarlyCommit {
  readonly partition: number;
  readonly offset: number;
  readonly unhandled: number;
}

export function earlyCommits(
  histories: readonly MemberHistory[],
  written: readonly (readonly number[])[],
): EarlyCommit[] {
  const handledAt = firstHandlings(histories);
  const events = histories.flatMap((history) => history.events);
  const commits = events.filter((event) => event.kind === 'committed');
  return written.flatMap((offsets, partition) => {
    const latest = latestBefore(offsets, handledAt[partition] ?? new Map());
    return commits.flatMap(({ startedAt, positions }) =>
      positions
        .filter((position) => position.partition === partition)
        .flatMap(({ offset }) => {
          const behind = lastBelow(latest, offset);
          return behind && behind.at > startedAt
            ? [{ partition, offset, unhandled: behind.offset }]
            : [];
        }),
    );
  });
}

interface HandledLast {
  /** The last record that the entry covers. */
  readonly below: number;
  /** Offset of the record that was handled last, and the time. */
  readonly offset: number;
  readonly at: number;
}

function firstHandlings(histories: readonly MemberHistory[]): Map<number, number>[] {
  const handledAt: Map<number, number>[] = [];
  for (const { events } of histories)
    for (const event of events) {
      if (event.kind !== 'handled') continue;
      for (const { partition, offset } of event.records) {
        const known = (handledAt[partition] ??= new Map());
        known.set(offset, Math.min(known.get(offset) ?? Infinity, event.at));
      }
    }
  return handledAt;
}

/** Returns, for each record, which record up to it was handled last. */
function latestBefore(
  offsets: readonly number[],
  handledAt: ReadonlyMap<number, number>,
): HandledLast[] {
  let latest = { offset: -1, at: -Infinity };
  return offsets.map((offset) => {
    const at = handledAt.get(offset) ?? Infinity;
    if (at > latest.at) latest = { offset, at };
    return { below: offset, ...latest };
  });
}

function lastBelow(moments: readonly HandledLast[], offset: number): HandledLast | undefined {
  let [from, to] = [0, moments.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((moments[middle]?.below ?? 0) < offset) from = middle + 1;
    else to = middle;
  }
  return moments[from - 1];
}
