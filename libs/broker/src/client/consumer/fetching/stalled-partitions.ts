import type { Runtime } from '../../../runtime/index.js';
import type { OwnedPartition } from './owned-partition.js';

/** A leader that moves is found within this time, as a rule. */
const EXPECTED_FAILURE_MS = 2_000;
/** One that was refused before a pause and is refused again after it has not stood still meanwhile. */
const EXPECTED_FAILURES = 2;

interface FailurePeriod {
  readonly since: number;
  times: number;
}

/** Tells partitions that cannot be read for long from those whose leader has just moved. */
export class StalledPartitions {
  readonly #failures = new WeakMap<OwnedPartition, FailurePeriod>();

  constructor(private readonly runtime: Runtime) {}

  /** It could not be read, once more; returns whether that is worth a word. */
  recordFailure(partition: OwnedPartition): boolean {
    const now = this.runtime.monotonic();
    const known = this.#failures.get(partition) ?? { since: now, times: 0 };
    this.#failures.set(partition, known);
    return ++known.times > EXPECTED_FAILURES && now - known.since >= EXPECTED_FAILURE_MS;
  }

  recordSuccess(partition: OwnedPartition): void {
    this.#failures.delete(partition);
  }
}
