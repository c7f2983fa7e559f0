import type { Runtime } from '../../../runtime/index.js';
import type { OwnedPartition } from './owned-partition.js';

/** A new leader is usually found within this time. */
const EXPECTED_FAILURE_MS = 2_000;
/**
 * The number of failures that are not reported. A partition that failed once before a pause and
 * once after it was not stalled in between.
 */
const EXPECTED_FAILURES = 2;

interface FailurePeriod {
  readonly since: number;
  times: number;
}

/**
 * Distinguishes partitions that cannot be read for a long time from partitions whose leader has
 * just changed.
 */
export class StalledPartitions {
  readonly #failures = new WeakMap<OwnedPartition, FailurePeriod>();

  constructor(private readonly runtime: Runtime) {}

  /**
   * Records a failed fetch. Returns whether the failures have lasted long enough to be reported.
   */
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
