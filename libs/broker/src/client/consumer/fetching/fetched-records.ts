import { InvalidOptionError } from '../../../port/errors.js';
import type { BrokerRecord } from '../../../port/record.js';
import { validatePoll } from '../../../port/validate-poll.js';
import { sizeOfAll } from '../../../records/index.js';
import type { OwnedPartition } from './owned-partition.js';

/** A poll that waits because no records were ready. */
interface WaitingPoll {
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
  /** Rejects with the reason of the signal. */
  readonly giveUp: () => void;
  resolve(records: readonly BrokerRecord[]): void;
  reject(error: Error): void;
}

/**
 * Delivers fetched records to `poll`, in turn over all partitions. Only one caller at a time may
 * wait for records.
 */
export class FetchedRecords {
  #waiting: WaitingPoll | undefined;
  #isServeScheduled = false;
  #nextPartition = 0;
  #closedWith: Error | undefined;
  /** True after a position has moved without a record, until a poll has returned. */
  #hasMovedWithoutRecords = false;

  constructor(
    private readonly partitions: Iterable<OwnedPartition>,
    private readonly onUnreadable: (partition: OwnedPartition, error: Error) => void,
  ) {}

  async poll(
    maxRecords: number,
    signal?: AbortSignal,
    maxBytes = Infinity,
  ): Promise<readonly BrokerRecord[]> {
    validatePoll(maxRecords, maxBytes);
    if (this.#waiting)
      throw new InvalidOptionError(
        'One poll at a time: the previous poll has not ended yet. Await it before the next one.',
      );
    if (this.#closedWith) throw this.#closedWith;
    signal?.throwIfAborted();
    const records = this.#collect(maxRecords, maxBytes);
    if (records) return records;
    return new Promise((resolve, reject) => {
      const giveUp = (): void => this.#endWaiting()?.reject(signal?.reason as Error);
      this.#waiting = { maxRecords, maxBytes, signal, giveUp, resolve, reject };
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /**
   * Schedules the delivery to a waiting poll. Records are delivered before the fetcher sends its
   * next request, so that the caller does not wait for that request.
   */
  readonly notify = (): void => {
    if (this.#isServeScheduled || !this.#waiting) return;
    this.#isServeScheduled = true;
    queueMicrotask(this.#serveWaitingPoll);
  };

  /** Rejects the waiting poll and every later poll with this reason. */
  close(reason: Error): void {
    this.#closedWith ??= reason;
    this.notify();
  }

  /**
   * Takes records only at the moment when the poll resolves. Records that were taken earlier would
   * be lost if the signal aborted.
   */
  readonly #serveWaitingPoll = (): void => {
    this.#isServeScheduled = false;
    const waiting = this.#waiting;
    if (!waiting) return;
    if (this.#closedWith) return this.#endWaiting()?.reject(this.#closedWith);
    try {
      const records = this.#collect(waiting.maxRecords, waiting.maxBytes);
      if (records) this.#endWaiting()?.resolve(records);
    } catch (error) {
      this.#endWaiting()?.reject(error as Error);
    }
  };

  #endWaiting(): WaitingPoll | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.signal?.removeEventListener('abort', waiting.giveUp);
    return waiting;
  }

  /**
   * Takes records from the partitions that have some. Each call starts with another partition, so
   * that a busy partition does not starve the others. Returns undefined if the caller need not know
   * anything: there are no records, and no position has moved without one.
   */
  #collect(maxRecords: number, maxBytes: number): readonly BrokerRecord[] | undefined {
    const ready: OwnedPartition[] = [];
    for (const partition of this.partitions)
      if (partition.hasDeliverableRecords) ready.push(partition);
    let records: readonly BrokerRecord[] = [];
    let remainingBytes = maxBytes;
    const first = ready.length > 0 ? this.#nextPartition++ % ready.length : 0;
    for (let index = 0; index < ready.length; index++) {
      const partition = ready[(first + index) % ready.length] as OwnedPartition;
      const taken = this.#take(partition, maxRecords - records.length, remainingBytes);
      records = records.length === 0 ? taken : [...records, ...taken];
      if (index === ready.length - 1 || records.length >= maxRecords) break;
      if ((remainingBytes -= sizeOfAll(taken)) <= 0) break;
    }
    const hasMoved = this.#hasMovedWithoutRecords;
    this.#hasMovedWithoutRecords = false;
    return records.length > 0 || hasMoved ? records : undefined;
  }

  #take(partition: OwnedPartition, max: number, maxBytes: number): readonly BrokerRecord[] {
    const { position } = partition;
    try {
      let taken = partition.take(max, maxBytes);
      // A chunk may contain only control records or aborted records.
      while (taken.length === 0 && partition.hasDeliverableRecords)
        taken = partition.take(max, maxBytes);
      if (taken.length === 0 && partition.position > position) this.#hasMovedWithoutRecords = true;
      return taken;
    } catch (error) {
      this.onUnreadable(partition, error as Error);
      return [];
    }
  }
}
