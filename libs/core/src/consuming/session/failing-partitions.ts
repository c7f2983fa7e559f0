import { type DriverLogger, errorNameOf } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { PartitionLane } from '../lanes/partition-lane.js';

/**
 * Logs once when records of a partition begin to fail while other records continue, and once when
 * no record waits any more.
 */
export class FailingPartitions {
  readonly #since = new Map<PartitionLane, number>();

  constructor(
    private readonly runtime: Pick<Runtime, 'monotonic'>,
    private readonly logger: DriverLogger,
  ) {}

  /** Called when the set of waiting records of this lane has changed. */
  update(lane: PartitionLane): void {
    const isFailing = lane.waiting?.has('backoff') ?? false;
    const since = this.#since.get(lane);
    if (isFailing && since === undefined) this.#begin(lane);
    else if (!isFailing && since !== undefined) this.#end(lane, since);
  }

  /** Logs the begin. The message of the error is omitted, because it may quote the record. */
  #begin(lane: PartitionLane): void {
    this.#since.set(lane, this.runtime.monotonic());
    const failed = lane.waiting?.lowestFailed;
    this.logger.warn('A record failed and waits for another try: others of its partition go on', {
      partition: lane.name,
      offset: failed?.offset,
      error: failed && errorNameOf(failed.error),
    });
  }

  #end(lane: PartitionLane, since: number): void {
    this.#since.delete(lane);
    this.logger.info('No record of a partition waits for another try any more', {
      partition: lane.name,
      afterMs: Math.round(this.runtime.monotonic() - since),
    });
  }
}
