import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { PartitionLane } from '../lanes/partition-lane.js';

/**
 * Logs once when records of a partition begin to fail while others go on, and once when that ends.
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

  /** The log line leaves out the message of the error, because it may quote the record. */
  #begin(lane: PartitionLane): void {
    this.#since.set(lane, this.runtime.monotonic());
    const failed = lane.waiting?.lowestFailed;
    this.logger.warn('A record failed and waits for another try: others of its partition go on', {
      partition: lane.name,
      offset: failed?.offset,
      error: failed?.error.name,
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
