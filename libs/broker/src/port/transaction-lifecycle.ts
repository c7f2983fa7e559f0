import { setMaxListeners } from 'node:events';
import { errorReasonOf } from './error-text.js';
import {
  InvalidOptionError,
  RefusedError,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
  type ProducerFencedError,
} from './errors.js';
import type { OffsetCommit } from './consumer.js';
import type { Transaction, TransactionOffsets } from './producer.js';
import type { OutgoingRecord, WrittenRecord } from './record.js';
import { validateOutgoingRecords } from './validate-records.js';

export type TransactionOutcome = 'commit' | 'abort';

/**
 * The result of the request that ends a transaction. `mayHaveEnded` means that the request was sent
 * and its response was lost.
 */
export type EndResult =
  | { readonly kind: 'done' }
  /** The transaction has already ended with the other outcome, or never began. */
  | { readonly kind: 'wrong-state'; readonly error: Error }
  | { readonly kind: 'fenced'; readonly error: ProducerFencedError; readonly mayHaveEnded: boolean }
  | { readonly kind: 'failed'; readonly error: Error; readonly mayHaveEnded: boolean };

/** The operations of a driver on a transaction. TransactionLifecycle decides when they run. */
export interface TransactionOperations {
  /**
   * Sends records. `signal` aborts when the transaction is aborted: unsent records are then dropped
   * and nothing is retried.
   */
  send(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<readonly WrittenRecord[]>;
  sendOffsets(offsets: TransactionOffsets, signal: AbortSignal): Promise<void>;
  /** Sends waiting records at once, because the transaction is about to end. */
  flush(): void;
  /** Ends the transaction. No other operation runs during the call. Never rejects. */
  end(outcome: TransactionOutcome): Promise<EndResult>;
  /**
   * Called after the last operation of the transaction, so that the producer can begin another one.
   */
  onEnded(): void;
}

type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'ending'; readonly outcome: string }
  | { readonly kind: 'ended'; readonly outcome: string };

const OPEN: State = { kind: 'open' };

/**
 * The states of every transaction, independent of the driver:
 *
 *   open → ending (waits for all steps) → ended
 *     ↑        │
 *     └────────┘ a commit failed: only `abort` is allowed, as after any failed step
 */
export class TransactionLifecycle implements Transaction {
  readonly #pendingSteps = new Set<Promise<unknown>>();
  readonly #aborted = new AbortController();
  #state: State = OPEN;
  #failure: Error | undefined;
  #endPromise: Promise<void> | undefined;
  #isCommitUnknown = false;

  constructor(private readonly work: TransactionOperations) {
    // Steps may add many listeners, and Node.js reports more than ten listeners as a possible leak.
    setMaxListeners(0, this.#aborted.signal);
  }

  send(records: readonly OutgoingRecord[]): Promise<readonly WrittenRecord[]> {
    return this.#runStep(async () => {
      validateOutgoingRecords(records);
      return records.length === 0 ? [] : this.work.send(records, this.#aborted.signal);
    });
  }

  sendOffsets(offsets: TransactionOffsets): Promise<void> {
    return this.#runStep(async () => {
      validateOffsets(offsets.offsets);
      if (offsets.offsets.length > 0) await this.work.sendOffsets(offsets, this.#aborted.signal);
    });
  }

  async commit(): Promise<void> {
    this.#requireUsable();
    await (this.#endPromise = this.#commit());
  }

  abort(): Promise<void> {
    if (this.#state.kind === 'open') this.#endPromise = this.#abort();
    else if (this.#state.outcome !== 'aborted')
      return Promise.reject(alreadyEndedError(this.#state));
    return this.#endPromise as Promise<void>;
  }

  /** Aborts an open transaction when the producer closes. Never rejects. */
  async close(): Promise<void> {
    await this.#endPromise?.catch(() => undefined);
    if (this.#state.kind === 'open') await this.abort().catch(() => undefined);
  }

  async #commit(): Promise<void> {
    this.#state = { kind: 'ending', outcome: 'committed' };
    try {
      await this.#settleSteps();
      if (this.#failure) throw abortRequiredError(this.#failure);
      this.#checkCommitResult(await this.work.end('commit'));
    } catch (error) {
      this.#failure ??= error as Error;
      this.#state = OPEN;
      throw error;
    }
    this.#finish('committed');
  }

  async #abort(): Promise<void> {
    this.#state = { kind: 'ending', outcome: 'aborted' };
    this.#aborted.abort(new RefusedError('The transaction was aborted: begin another one.', false));
    try {
      await this.#settleSteps();
      this.#checkAbortResult(await this.work.end('abort'));
    } finally {
      this.#finish('aborted');
    }
  }

  #checkCommitResult(result: EndResult): void {
    if (result.kind === 'done') return;
    if (result.kind === 'wrong-state' || !result.mayHaveEnded) throw result.error;
    this.#isCommitUnknown = true;
    throw outcomeUnknownError(result.error);
  }

  #checkAbortResult(result: EndResult): void {
    if (result.kind === 'done') return;
    if (this.#isCommitUnknown)
      throw result.kind === 'wrong-state'
        ? alreadyCommittedError(result.error)
        : outcomeUnknownError(result.error);
    // The abort has succeeded even if the transaction never began or a newer producer has aborted
    // it.
    if (result.kind === 'failed') throw result.error;
  }

  async #runStep<T>(step: () => Promise<T>): Promise<T> {
    this.#requireUsable();
    const running = step();
    this.#pendingSteps.add(running);
    try {
      return await running;
    } catch (error) {
      this.#failure ??= error as Error;
      throw error;
    } finally {
      this.#pendingSteps.delete(running);
    }
  }

  #settleSteps(): Promise<unknown> {
    this.work.flush();
    return Promise.allSettled(this.#pendingSteps);
  }

  #finish(outcome: string): void {
    this.#state = { kind: 'ended', outcome };
    this.work.onEnded();
  }

  #requireUsable(): void {
    if (this.#state.kind !== 'open') throw alreadyEndedError(this.#state);
    if (this.#failure) throw abortRequiredError(this.#failure);
  }
}

/** Rejects invalid offsets, because a broker would store them. */
function validateOffsets(offsets: readonly OffsetCommit[]): void {
  const wrong = offsets.find(({ offset }) => !Number.isSafeInteger(offset) || offset < 0);
  if (wrong)
    throw new InvalidOptionError(
      `sendOffsets needs offsets of 0 or more; got ${wrong.offset} for ${wrong.topic}/${wrong.partition}.`,
    );
}

function abortRequiredError(cause: Error): RefusedError {
  return new RefusedError(
    `A part of the transaction failed, so that it can only be aborted: ${errorReasonOf(cause)} Abort it.`,
    false,
    { cause },
  );
}

function alreadyEndedError({ kind, outcome }: Exclude<State, { kind: 'open' }>): RefusedError {
  return new RefusedError(
    kind === 'ended'
      ? `The transaction was ${outcome} already: begin another one.`
      : `The transaction is being ${outcome}: it accepts no further operation.`,
    false,
  );
}

function outcomeUnknownError(cause: Error): TransactionOutcomeUnknownError {
  return new TransactionOutcomeUnknownError(
    `The outcome of the commit is unknown, because no response arrived: ${errorReasonOf(cause)} Abort the transaction to find it out.`,
    { cause },
  );
}

function alreadyCommittedError(cause: Error): TransactionCommittedError {
  return new TransactionCommittedError(
    'The transaction cannot be aborted: its commit has succeeded. Begin another one for further records.',
    { cause },
  );
}
