import type { MemberStory } from '../support/tenures.js';

/** A commit that passed over a record which nobody had handled by then. */
export interface EarlyCommit {
  readonly partition: number;
  readonly offset: number;
  readonly unhandled: number;
}

export function earlyCommits(
  stories: readonly MemberStory[],
  written: readonly (readonly number[])[],
): EarlyCommit[] {
  const handledAt = firstHandlings(stories);
  const events = stories.flatMap((story) => story.events);
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

interface Moment {
  /** The last record that the moments are of. */
  readonly below: number;
  /** Which of them all was handled last, and when. */
  readonly offset: number;
  readonly at: number;
}

function firstHandlings(stories: readonly MemberStory[]): Map<number, number>[] {
  const handledAt: Map<number, number>[] = [];
  for (const { events } of stories)
    for (const event of events) {
      if (event.kind !== 'handled') continue;
      for (const { partition, offset } of event.records) {
        const known = (handledAt[partition] ??= new Map());
        known.set(offset, Math.min(known.get(offset) ?? Infinity, event.at));
      }
    }
  return handledAt;
}

/** For each record: which one of it and those before was handled last. */
function latestBefore(
  offsets: readonly number[],
  handledAt: ReadonlyMap<number, number>,
): Moment[] {
  let latest = { offset: -1, at: -Infinity };
  return offsets.map((offset) => {
    const at = handledAt.get(offset) ?? Infinity;
    if (at > latest.at) latest = { offset, at };
    return { below: offset, ...latest };
  });
}

function lastBelow(moments: readonly Moment[], offset: number): Moment | undefined {
  let [from, to] = [0, moments.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((moments[middle]?.below ?? 0) < offset) from = middle + 1;
    else to = middle;
  }
  return moments[from - 1];
}
