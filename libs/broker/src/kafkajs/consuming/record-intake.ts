import { InvalidOptionError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import type { OwnedPartition } from './owned-partition.js';

/** A poll that found nothing to hand out. */
interface WaitingPoll {
  readonly maxRecords: number;
  resolve(records: readonly BrokerRecord[]): void;
  reject(error: Error): void;
}

/** Hands out what was fetched, fairly, and lets one caller wait for more. */
export class RecordIntake {
  #waiting: WaitingPoll | undefined;
  #notified = false;
  #turn = 0;
  #end: Error | undefined;

  constructor(
    private readonly partitions: Iterable<OwnedPartition>,
    private readonly onTrouble: (partition: OwnedPartition, error: Error) => void,
  ) {}

  async poll(maxRecords: number, signal?: AbortSignal): Promise<readonly BrokerRecord[]> {
    if (!Number.isSafeInteger(maxRecords) || maxRecords < 1)
      throw new InvalidOptionError(`poll needs a whole number of at least 1, not ${maxRecords}.`);
    if (this.#waiting)
      throw new InvalidOptionError('One poll at a time: the one before has not ended yet.');
    if (this.#end) throw this.#end;
    signal?.throwIfAborted();
    const records = this.#collect(maxRecords);
    return records.length > 0 ? records : this.#wait(maxRecords, signal);
  }

  /**
   * There may be something to hand out. It is handed out before the pump asks the broker for more:
   * whoever waits for the records does not wait for that.
   */
  notify(): void {
    if (this.#notified || !this.#waiting) return;
    this.#notified = true;
    queueMicrotask(() => {
      this.#notified = false;
      this.#serve();
    });
  }

  /** Every poll from now on rejects with this. */
  end(reason: Error): void {
    this.#end ??= reason;
    this.notify();
  }

  /** Records are taken only when the poll ends with them: taken before, a signal could still lose them. */
  #wait(maxRecords: number, signal?: AbortSignal): Promise<readonly BrokerRecord[]> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting = undefined;
        signal?.removeEventListener('abort', giveUp);
      };
      const giveUp = (): void => {
        leave();
        reject(signal?.reason as Error);
      };
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T): void => {
          leave();
          settle(value);
        };
      this.#waiting = { maxRecords, resolve: settled(resolve), reject: settled(reject) };
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  #serve(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    if (this.#end) return waiting.reject(this.#end);
    try {
      const records = this.#collect(waiting.maxRecords);
      if (records.length > 0) waiting.resolve(records);
    } catch (error) {
      waiting.reject(error as Error);
    }
  }

  /** Each call begins with another partition, so that none starves beside a busy one. */
  #collect(maxRecords: number): readonly BrokerRecord[] {
    const ready = [...this.partitions].filter((partition) => partition.ready);
    if (ready.length === 0) return [];
    const from = this.#turn++ % ready.length;
    let records: readonly BrokerRecord[] = [];
    for (let index = 0; index < ready.length && records.length < maxRecords; index++) {
      const partition = ready[(from + index) % ready.length] as OwnedPartition;
      const taken = this.#take(partition, maxRecords - records.length);
      records = records.length === 0 ? taken : [...records, ...taken];
    }
    return records;
  }

  #take(partition: OwnedPartition, max: number): readonly BrokerRecord[] {
    try {
      let taken = partition.take(max);
      // A chunk may hold nothing but control records or aborted ones.
      while (taken.length === 0 && partition.ready) taken = partition.take(max);
      return taken;
    } catch (error) {
      this.onTrouble(partition, error as Error);
      return [];
    }
  }
}
