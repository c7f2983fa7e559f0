import type { ReadLetter } from '../letters/read-letters.js';
import type { CauseGroup } from './redrive-plan.js';

/** A plan lists at most this many groups, so that it fits into one record. */
const MOST_LISTED = 100;
/** Letters of any producer could have endless exception classes. */
const MOST_COUNTED = 10_000;
const LONGEST_CLASS = 200;

type Counted = { -readonly [K in keyof CauseGroup]: CauseGroup[K] };

/** Counts letters by the group of their cause, in bounded memory. */
export class GroupCounter {
  readonly #groups = new Map<string, Counted>();
  #uncounted = 0;

  count({ group, facts }: ReadLetter): void {
    const at = facts.dltTimestamp;
    const known = this.#groups.get(group);
    if (known) {
      known.count++;
      known.firstSeen = Math.min(known.firstSeen, at);
      known.lastSeen = Math.max(known.lastSeen, at);
    } else if (this.#groups.size >= MOST_COUNTED) this.#uncounted++;
    else
      this.#groups.set(group, {
        id: group,
        exceptionClass: facts.lastExceptionClass.slice(0, LONGEST_CLASS),
        ...(facts.dltCause !== undefined && { cause: facts.dltCause }),
        count: 1,
        firstSeen: at,
        lastSeen: at,
      });
  }

  /** The number of groups; letters beyond the limit count as one more. */
  get size(): number {
    return this.#groups.size + (this.#uncounted > 0 ? 1 : 0);
  }

  largest(): readonly CauseGroup[] {
    return [...this.#groups.values()]
      .toSorted((one, other) => other.count - one.count || (one.id < other.id ? -1 : 1))
      .slice(0, MOST_LISTED);
  }
}
