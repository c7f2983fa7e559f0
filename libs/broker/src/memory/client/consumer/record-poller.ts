import { InvalidOptionError, PartitionError } from '../../../port/errors.js';
import type { BrokerRecord } from '../../../port/record.js';
import { validatePoll } from '../../../port/validate-poll.js';
import { sizeOfAll } from '../../../records/index.js';
import { abortable } from '../../../runtime/index.js';
import type { Network } from '../../broker/network.js';
import { toBrokerError } from '../refusal-errors.js';
import type { OwnedPartition } from './owned-partition.js';
import type { SessionContext } from './session-context.js';

/**
 * Returns fetched records to one caller at a time. A partition whose records were returned moves to
 * the end of the queue.
 */
export class RecordPoller {
  #isPolling = false;
  #ended: Error | undefined;
  /** True after a position has moved without a record, until a poll has returned. */
  #hasMovedWithoutRecords = false;

  constructor(
    private readonly context: SessionContext,
    private readonly network: Network,
    /** Called when a partition has no more buffered records. */
    private readonly onDrained: () => void,
  ) {}

  async poll(
    maxRecords: number,
    signal?: AbortSignal,
    maxBytes = Infinity,
  ): Promise<readonly BrokerRecord[]> {
    validatePoll(maxRecords, maxBytes);
    if (this.#isPolling)
      throw new InvalidOptionError(
        'Another poll of this session is pending. Only one call at a time is allowed, because parallel calls would change the order of records.',
      );
    this.#isPolling = true;
    try {
      return await this.#next(maxRecords, maxBytes, signal);
    } finally {
      this.#isPolling = false;
    }
  }

  /** Makes every later poll reject. The reason of the first call is used. */
  end(reason: Error): void {
    this.#ended ??= reason;
    this.context.notifier.notify();
  }

  async #next(
    max: number,
    maxBytes: number,
    signal?: AbortSignal,
  ): Promise<readonly BrokerRecord[]> {
    for (;;) {
      await this.network.yieldToEventLoop();
      signal?.throwIfAborted();
      if (this.#ended) throw this.#ended;
      const changed = this.context.notifier.next;
      const records = this.#take(max, maxBytes);
      const hasMoved = this.#hasMovedWithoutRecords;
      this.#hasMovedWithoutRecords = false;
      if (records.length > 0 || hasMoved) return records;
      await abortable(changed, signal);
    }
  }

  #take(max: number, maxBytes: number): readonly BrokerRecord[] {
    let taken: readonly BrokerRecord[] = [];
    let bytesLeft = maxBytes;
    for (const owned of this.context.ownership.ready()) {
      if (taken.length >= max || bytesLeft <= 0) break;
      const records = this.#takeFrom(owned, max - taken.length, bytesLeft);
      bytesLeft -= sizeOfAll(records);
      if (records.length > 0) taken = taken.length === 0 ? records : [...taken, ...records];
      this.context.ownership.moveToEnd(owned);
      if (owned.wantsRecords) this.onDrained();
    }
    return taken;
  }

  #takeFrom(owned: OwnedPartition, max: number, maxBytes: number): readonly BrokerRecord[] {
    const { position } = owned;
    try {
      const records = owned.take(max, maxBytes);
      if (records.length === 0 && owned.position > position) this.#hasMovedWithoutRecords = true;
      return records;
    } catch (error) {
      if (error instanceof PartitionError) this.context.stop(owned, error);
      else {
        this.context.status.retrying('fetching', toBrokerError(error));
        owned.dropFetched();
      }
      return [];
    }
  }
}
