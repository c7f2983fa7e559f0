import { errorReasonOf } from '../../../port/error-text.js';
import { BrokerError, SendError } from '../../../port/errors.js';
import type { OutgoingRecord, RecordOutcome, WrittenRecord } from '../../../port/record.js';
import { Deferred } from '../../../runtime/index.js';

/** A call of `send`: the outcomes of its records, and the promise for all of them. */
export class SendCall {
  /** The reason why unsent records of the call are dropped. */
  cancellation: Error | undefined;
  readonly #outcomes: RecordOutcome[];
  readonly #done = new Deferred<readonly WrittenRecord[]>();
  #unsettled: number;

  constructor(
    readonly records: readonly OutgoingRecord[],
    /** The producer's clock at the call. */
    readonly calledAt: number,
    /** The time of the call on the monotonic clock. */
    readonly startedAt: number,
    /** The deadline on the monotonic clock. */
    readonly deadline: number,
    /**
     * True if its records share no batch with other calls, so that they can be cancelled
     * separately.
     */
    readonly hasOwnBatches: boolean,
  ) {
    this.#outcomes = new Array<RecordOutcome>(records.length);
    this.#unsettled = records.length;
  }

  get done(): Promise<readonly WrittenRecord[]> {
    return this.#done.promise;
  }

  fail(index: number, state: 'not-written' | 'unknown', error: Error): void {
    this.settle(index, { state, topic: this.records[index]?.topic ?? '', error });
  }

  settle(index: number, outcome: RecordOutcome): void {
    if (this.#outcomes[index]) return;
    this.#outcomes[index] = outcome;
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#finish();
  }

  #finish(): void {
    const failed = this.#outcomes.filter((outcome) => outcome.state !== 'written');
    if (failed.length === 0) this.#done.resolve(this.#outcomes.map(written));
    else this.#done.reject(sendError(this.#outcomes, failed));
  }
}

function written(outcome: RecordOutcome): WrittenRecord {
  const { topic, partition, offset, timestamp } = outcome as WrittenRecord;
  return { topic, partition, offset, timestamp };
}

type Failed = Exclude<RecordOutcome, { state: 'written' }>;

function sendError(
  outcomes: readonly RecordOutcome[],
  failed: readonly RecordOutcome[],
): SendError {
  const errors = (failed as readonly Failed[]).map(({ error }) => error);
  const unknown = failed.filter(({ state }) => state === 'unknown').length;
  const summary =
    unknown === 0
      ? 'none of those was written'
      : `${unknown} of those may have been written all the same`;
  return new SendError(
    outcomes,
    `${failed.length} of ${outcomes.length} records were not acknowledged, ${summary}. First error: ${errors[0] ? errorReasonOf(errors[0]) : 'none'}`,
    errors.every((error) => error instanceof BrokerError && error.retriable),
    { cause: errors[0] },
  );
}
