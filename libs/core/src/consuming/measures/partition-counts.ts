import type { Outcome } from '../../model/outcomes/outcome.js';

type OutcomeKind = Outcome['kind'];

/** How many deliveries of a partition had each outcome. */
export interface PartitionOutcomes {
  readonly partition: number;
  readonly outcomes: Readonly<Record<OutcomeKind, number>>;
}

/** Counts outcomes by partition. Records of one partition usually follow each other. */
export class PartitionCounts {
  readonly #counts = new Map<number, Record<OutcomeKind, number>>();
  #last: Record<OutcomeKind, number> | undefined;
  #lastPartition = -1;

  count(partition: number, kind: OutcomeKind): void {
    if (!this.#last || partition !== this.#lastPartition) {
      this.#last = this.#of(partition);
      this.#lastPartition = partition;
    }
    this.#last[kind]++;
  }

  get values(): readonly PartitionOutcomes[] {
    return [...this.#counts]
      .sort(([a], [b]) => a - b)
      .map(([partition, counts]) => ({ partition, outcomes: { ...counts } }));
  }

  #of(partition: number): Record<OutcomeKind, number> {
    let counts = this.#counts.get(partition);
    if (!counts) this.#counts.set(partition, (counts = noOutcomes()));
    return counts;
  }
}

export function noOutcomes(): Record<OutcomeKind, number> {
  return {
    succeeded: 0,
    discarded: 0,
    retried: 0,
    'dead-lettered': 0,
    failed: 0,
    'handed-back': 0,
  };
}
