import { InvalidOptionError } from '../../../port/errors.js';
import type { BrokerRecord } from '../../../port/record.js';
import { validatePoll } from '../../../port/validate-poll.js';
import { sizeOfAll } from '../../../records/index.js';
import type { OwnedPartition } from './owned-partition.js';

/** A poll that waits because no records were ready. */
interface WaitingPoll {
  readonly maxRecords: number;
  readonly maxBytes: number;
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
      throw new InvalidOptionError('One poll at a time: the previous poll has not ended yet.');
    if (this.#closedWith) throw this.#closedWith;
    signal?.throwIfAborted();
    const records = this.#collect(maxRecords, maxBytes);
    return this.#mayReturn(records) ? records : this.#waitForRecords(maxRecords, maxBytes, signal);
  }

  /**
   * Schedules the delivery to a waiting poll. Records are delivered before the fetcher sends its
   * next request, so that the caller does not wait for that request.
   */
  notify(): void {
    if (this.#isServeScheduled || !this.#waiting) return;
    this.#isServeScheduled = true;
    queueMicrotask(() => {
      this.#isServeScheduled = false;
      this.#serveWaitingPoll();
    });
  }

  /** Rejects the waiting poll and every later poll with this reason. */
  close(reason: Error): void {
    this.#closedWith ??= reason;
    this.notify();
  }

  /**
   * Takes records only at the moment when the poll resolves. Records that were taken earlier would
   * be lost if the signal aborted.
   */
  #waitForRecords(
    maxRecords: number,
    maxBytes: number,
    signal?: AbortSignal,
  ): Promise<readonly BrokerRecord[]> {
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        this.#waiting = undefined;
        signal?.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => {
        stopWaiting();
        reject(signal?.reason as Error);
      };
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T): void => {
          stopWaiting();
          settle(value);
        };
      this.#waiting = { maxRecords, maxBytes, resolve: settled(resolve), reject: settled(reject) };
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  #serveWaitingPoll(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    if (this.#closedWith) return waiting.reject(this.#closedWith);
    try {
      const records = this.#collect(waiting.maxRecords, waiting.maxBytes);
      if (this.#mayReturn(records)) waiting.resolve(records);
    } catch (error) {
      waiting.reject(error as Error);
    }
  }

  /** Returns whether the caller has to know: of records, or of a position that has moved. */
  #mayReturn(records: readonly BrokerRecord[]): boolean {
    const hasMoved = this.#hasMovedWithoutRecords;
    this.#hasMovedWithoutRecords = false;
    return records.length > 0 || hasMoved;
  }

  /**
   * Takes records from the partitions that have some. Each call starts with another partition, so
   * that a busy partition does not starve the others.
   */
  #collect(maxRecords: number, maxBytes: number): readonly BrokerRecord[] {
    const ready = [...this.partitions].filter((partition) => partition.hasDeliverableRecords);
    if (ready.length === 0) return [];
    const first = this.#nextPartition++ % ready.length;
    let records: readonly BrokerRecord[] = [];
    let remainingBytes = maxBytes;
    for (let index = 0; index < ready.length; index++) {
      const partition = ready[(first + index) % ready.length] as OwnedPartition;
      const taken = this.#take(partition, maxRecords - records.length, remainingBytes);
      records = records.length === 0 ? taken : [...records, ...taken];
      if (records.length >= maxRecords || (remainingBytes -= sizeOfAll(taken)) <= 0) break;
    }
    return records;
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
