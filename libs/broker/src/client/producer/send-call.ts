import type { BrokerError } from '../../port/errors.js';
import type { OutgoingRecord, RecordOutcome, WrittenRecord } from '../../port/record.js';
import { sendErrorOf } from './send-report.js';

export type FailedState = Exclude<RecordOutcome['state'], 'written'>;
export type FailedOutcome = Extract<RecordOutcome, { readonly state: FailedState }>;

/** A place where some of a call's records wait for their outcome. */
export interface Holding {
  /** A request with them has left, and its answer is still awaited. */
  readonly isUnderWay: boolean;
  /** Fails what is still here: for `reason`, or, at the deadline, for what held it up. */
  giveUp(reason: Error | undefined): void;
}

export interface SendClock {
  /** The timestamp of records that bring none. */
  readonly sentAt: number;
  /** Monotonic. */
  readonly startedAt: number;
  readonly timeoutMs: number;
}

/** One `send`: which of its records have an outcome, and the one promise for them all. */
export class SendCall {
  readonly promise: Promise<readonly WrittenRecord[]>;
  readonly #written: WrittenRecord[];
  readonly #holdings: Holding[] = [];
  #failures: Map<number, FailedOutcome> | undefined;
  #left: number;
  #abandoned: Error | undefined;
  #resolve: (written: readonly WrittenRecord[]) => void = () => undefined;
  #reject: (error: BrokerError) => void = () => undefined;

  constructor(
    readonly records: readonly OutgoingRecord[],
    readonly clock: SendClock,
    private readonly onSettled: (call: SendCall) => void,
  ) {
    this.#left = records.length;
    this.#written = new Array<WrittenRecord>(records.length);
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isSettled(): boolean {
    return this.#left === 0;
  }

  get deadlineAt(): number {
    return this.clock.startedAt + this.clock.timeoutMs;
  }

  /** Why the caller gave up, once it has: what is under way is settled, nothing is tried again. */
  get abandoned(): Error | undefined {
    return this.#abandoned;
  }

  timestampOf(record: OutgoingRecord): number {
    return record.timestamp ?? this.clock.sentAt;
  }

  heldBy(holding: Holding): void {
    this.#holdings.push(holding);
  }

  /** `appendTime` is the broker's, -1 where the records keep their own. */
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

  /** The deadline has come: whatever has no outcome gets one now. */
  expire(): void {
    for (const holding of this.#holdings) holding.giveUp(undefined);
  }

  /** The caller's signal: what has not left is given up, what is under way may still end well. */
  abandon(reason: Error): void {
    this.#abandoned = reason;
    for (const holding of this.#holdings) if (!holding.isUnderWay) holding.giveUp(reason);
  }

  /** The end of the producer: nothing will be answered any more. */
  cutOff(reason: Error): void {
    for (const holding of this.#holdings) holding.giveUp(reason);
  }

  #settleOne(): void {
    if (--this.#left > 0) return;
    this.onSettled(this);
    if (this.#failures === undefined) this.#resolve(this.#written);
    else this.#reject(sendErrorOf(this.#outcomes(this.#failures)));
  }

  #outcomes(failures: ReadonlyMap<number, FailedOutcome>): readonly RecordOutcome[] {
    return this.records.map((_, index) => {
      const failure = failures.get(index);
      return failure ?? { state: 'written', ...(this.#written[index] as WrittenRecord) };
    });
  }
}
