import type { ReplayOutcome, ReplayResult } from '../../model/outcomes/replay-outcomes.js';
import type { ReplayOfLetter } from './replay-id.js';

/** How the replays of an operation ended. */
export interface OutcomeCounts {
  readonly handled: number;
  readonly discarded: number;
  readonly deadLettered: number;
}

type Outcome = Pick<ReplayOutcome, 'result' | 'reason'>;

const COUNTED_AS: Readonly<Record<ReplayResult, keyof OutcomeCounts>> = {
  handled: 'handled',
  discarded: 'discarded',
  'dead-lettered': 'deadLettered',
};

/** Discards that are no success: an operator or a `@DltHandler` has given the record up. */
const GIVEN_UP: readonly (string | undefined)[] = ['skipped', 'dlt-handler'];

/** Counts the last outcome of each letter, because an outcome may be written twice. */
export class OutcomeCounter {
  readonly #outcomes = new Map<string, Outcome>();

  add(
    { partition, offset }: Pick<ReplayOfLetter, 'partition' | 'offset'>,
    { result, reason }: Outcome,
  ): void {
    this.#outcomes.set(`${partition}/${offset}`, {
      result,
      ...(reason !== undefined && { reason }),
    });
  }

  counts(): OutcomeCounts {
    const counts = { handled: 0, discarded: 0, deadLettered: 0 };
    for (const { result } of this.#outcomes.values()) counts[COUNTED_AS[result]]++;
    return counts;
  }

  /** Counts for a verdict. A record that its binding does not want has not failed again. */
  quality(): { readonly good: number; readonly bad: number } {
    let bad = 0;
    for (const { result, reason } of this.#outcomes.values())
      if (result === 'dead-lettered' || (result === 'discarded' && GIVEN_UP.includes(reason)))
        bad++;
    return { good: this.#outcomes.size - bad, bad };
  }
}
