import type { BrokerError } from '../../port/errors.js';
import type { OutgoingRecord, RecordOutcome, WrittenRecord } from '../../port/record.js';
import { createSendError } from './create-send-error.js';
import type { FailedState } from './failed-record-state.js';

export type FailedOutcome = Extract<RecordOutcome, { readonly state: FailedState }>;

/** An object that holds some records of a call until they have an outcome. */
export interface RecordHolder {
  /** True while a request with these records is in flight. */
  readonly isInFlight: boolean;
  /**
   * Fails the records that have no outcome yet, with `reason`. If `reason` is undefined, the deadline
   * is over, and they fail with the error that delayed them.
   */
  abandon(reason: Error | undefined): void;
}

export interface SendTiming {
  /** The timestamp of records that have none of their own. */
  readonly sentAt: number;
  /** Monotonic time of the call. */
  readonly startedAt: number;
  readonly timeoutMs: number;
}

/** A call of `send`: the outcomes of its records, and the promise for all of them. */
export class SendCall {
  readonly promise: Promise<readonly WrittenRecord[]>;
  /** Monotonic time at which the call fails. */
  readonly deadlineAt: number;
  /**
   * The reason with which the caller aborted. Records in flight still get their outcome, but no
   * record is sent again.
   */
  abandoned: Error | undefined;
  readonly #written: WrittenRecord[];
  readonly #holders: RecordHolder[] = [];
  #failures: Map<number, FailedOutcome> | undefined;
  #openRecords: number;
  #resolve: (written: readonly WrittenRecord[]) => void = () => undefined;
  #reject: (error: BrokerError) => void = () => undefined;

  constructor(
    readonly records: readonly OutgoingRecord[],
    readonly timing: SendTiming,
    private readonly onSettled: (call: SendCall) => void,
  ) {
    this.deadlineAt = timing.startedAt + timing.timeoutMs;
    this.#openRecords = records.length;
    this.#written = new Array<WrittenRecord>(records.length);
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isSettled(): boolean {
    return this.#openRecords === 0;
  }

  timestampOf(record: OutgoingRecord): number {
    return record.timestamp ?? this.timing.sentAt;
  }

  addHolder(holding: RecordHolder): void {
    this.#holders.push(holding);
  }

  /**
   * Records that the broker has written this record. `appendTime` is the broker's time, or -1 if
   * the record keeps its own timestamp.
   */
  writtenAt(index: number, partition: number, offset: number, appendTime: number): void {
    const record = this.records[index] as OutgoingRecord;
    const timestamp = appendTime >= 0 ? appendTime : this.timestampOf(record);
    this.#written[index] = { topic: record.topic, partition, offset, timestamp };
    this.#settleOne();
  }

  failed(index: number, state: FailedState, error: Error): void {
    this.#failures ??= new Map();
    this.#failures.set(index, {
      state,
      topic: (this.records[index] as OutgoingRecord).topic,
      error,
    });
    this.#settleOne();
  }

  /** Fails all records without an outcome, because the deadline has passed. */
  expire(): void {
    for (const holding of this.#holders) holding.abandon(undefined);
  }

  /**
   * Fails all records that are not in flight, because the caller's signal aborted. Records in
   * flight may still be written.
   */
  abandon(reason: Error): void {
    this.abandoned = reason;
    for (const holding of this.#holders) if (!holding.isInFlight) holding.abandon(reason);
  }

  /**
   * Fails all records without an outcome, because the producer is closed and no response will
   * arrive.
   */
  end(reason: Error): void {
    for (const holding of this.#holders) holding.abandon(reason);
  }

  /** Settles the promise of the call once the last record has its outcome. */
  #settleOne(): void {
    if (--this.#openRecords > 0) return;
    this.onSettled(this);
    if (this.#failures === undefined) this.#resolve(this.#written);
    else this.#reject(createSendError(this.#outcomes(this.#failures)));
  }

  #outcomes(failures: ReadonlyMap<number, FailedOutcome>): readonly RecordOutcome[] {
    return this.records.map((_, index) => {
      const failure = failures.get(index);
      return failure ?? { state: 'written', ...(this.#written[index] as WrittenRecord) };
    });
  }
}
