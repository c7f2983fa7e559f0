import { InvalidOptionError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import { Deferred, abortable } from '../../runtime/index.js';
import type { OwnedPartition } from './owned-partition.js';

/** Hands out what was fetched, fairly, and lets one caller wait for more. */
export class RecordIntake {
  #waiting: Deferred | undefined;
  #polling = false;
  #turn = 0;
  #end: Error | undefined;

  constructor(
    private readonly partitions: Iterable<OwnedPartition>,
    private readonly onTrouble: (partition: OwnedPartition, error: Error) => void,
  ) {}

  async poll(maxRecords: number, signal?: AbortSignal): Promise<readonly BrokerRecord[]> {
    if (!Number.isSafeInteger(maxRecords) || maxRecords < 1)
      throw new InvalidOptionError(`poll needs a whole number of at least 1, not ${maxRecords}.`);
    if (this.#polling)
      throw new InvalidOptionError('One poll at a time: the one before has not ended yet.');
    this.#polling = true;
    try {
      for (;;) {
        if (this.#end) throw this.#end;
        signal?.throwIfAborted();
        const records = this.#collect(maxRecords);
        if (records.length > 0) return records;
        this.#waiting = new Deferred();
        await abortable(this.#waiting.promise, signal);
      }
    } finally {
      this.#polling = false;
    }
  }

  /** There may be something to hand out. */
  notify(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  /** Every poll from now on rejects with this. */
  end(reason: Error): void {
    this.#end ??= reason;
    this.notify();
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
