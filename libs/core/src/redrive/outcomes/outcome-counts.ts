import type { ReplayOutcome } from '../../model/outcomes/replay-outcomes.js';
import { OutcomeTable, type OutcomeClass } from './outcome-table.js';
import type { ReplayOfLetter } from './replay-id.js';

/** How the replays of an operation ended. */
export interface OutcomeCounts {
  readonly handled: number;
  readonly discarded: number;
  readonly deadLettered: number;
}

type Outcome = Pick<ReplayOutcome, 'result' | 'reason'>;
type Letter = Pick<ReplayOfLetter, 'partition' | 'offset'>;

/** Discards that are no success: an operator or a `@DltHandler` has given the record up. */
const GIVEN_UP: readonly (string | undefined)[] = ['skipped', 'dlt-handler'];

export function classOf({ result, reason }: Outcome): OutcomeClass {
  return result === 'discarded' && GIVEN_UP.includes(reason) ? 'given-up' : result;
}

/** Counts the last outcome of each letter of an operation. */
export class OutcomeCounter {
  readonly #tables = new Map<number, OutcomeTable>();

  add({ partition, offset }: Letter, outcome: Outcome): void {
    let table = this.#tables.get(partition);
    if (!table) this.#tables.set(partition, (table = new OutcomeTable()));
    table.set(offset, classOf(outcome));
  }

  /** Forgets the outcome of a letter that a purge has deleted. */
  remove({ partition, offset }: Letter): void {
    this.#tables.get(partition)?.delete(offset);
  }

  counts(): OutcomeCounts {
    return {
      handled: this.#sum('handled'),
      discarded: this.#sum('discarded') + this.#sum('given-up'),
      deadLettered: this.#sum('dead-lettered'),
    };
  }

  /** Counts for a verdict. A record that its binding does not want has not failed again. */
  quality(): { readonly good: number; readonly bad: number } {
    return {
      good: this.#sum('handled') + this.#sum('discarded'),
      bad: this.#sum('given-up') + this.#sum('dead-lettered'),
    };
  }

  #sum(outcome: OutcomeClass): number {
    let sum = 0;
    for (const table of this.#tables.values()) sum += table.count(outcome);
    return sum;
  }
}
