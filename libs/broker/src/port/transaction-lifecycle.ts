import { setMaxListeners } from 'node:events';
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

/** How the cluster took the end of a transaction. `mayHaveEnded`: an attempt had left, and no answer told. */
export type EndResult =
  | { readonly kind: 'done' }
  /** It has ended the other way before, or was never begun. */
  | { readonly kind: 'wrong-state'; readonly error: Error }
  | { readonly kind: 'fenced'; readonly error: ProducerFencedError; readonly mayHaveEnded: boolean }
  | { readonly kind: 'failed'; readonly error: Error; readonly mayHaveEnded: boolean };

/** What a driver does for a transaction. When, and whether at all, decides its TransactionCourse. */
export interface TransactionOperations {
  /** `signal` aborts when the transaction does: what has not left stays here, nothing is tried again. */
  send(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<readonly WrittenRecord[]>;
  sendOffsets(offsets: TransactionOffsets, signal: AbortSignal): Promise<void>;
  /** The end is near: nothing has to wait for company any more. */
  flush(): void;
  /** Nothing else is under way meanwhile. Never rejects. */
  end(verdict: TransactionOutcome): Promise<EndResult>;
  /** No call will come any more: the producer is free for the next transaction. */
  onEnded(): void;
}

type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'ending'; readonly how: string }
  | { readonly kind: 'ended'; readonly how: string };

const OPEN: State = { kind: 'open' };

/**
 * The course of every transaction, whichever driver carries it out:
 *
 *   open → ending (all steps are awaited) → over
 *     ↑        │
 *     └────────┘ a commit that failed: only `abort` is left, as after any step that failed
 */
export class TransactionLifecycle implements Transaction {
  readonly #pendingSteps = new Set<Promise<unknown>>();
  readonly #aborted = new AbortController();
  #state: State = OPEN;
  #failure: Error | undefined;
  #endPromise: Promise<void> | undefined;
  #isCommitUnknown = false;

  constructor(private readonly work: TransactionOperations) {
    // Every step may listen, and Node would take more than ten for a leak.
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
    else if (this.#state.how !== 'aborted') return Promise.reject(alreadyEndedError(this.#state));
    return this.#endPromise as Promise<void>;
  }

  /** For whoever closes the producer: what is open ends. Never rejects. */
  async close(): Promise<void> {
    await this.#endPromise?.catch(() => undefined);
    if (this.#state.kind === 'open') await this.abort().catch(() => undefined);
  }

  async #commit(): Promise<void> {
    this.#state = { kind: 'ending', how: 'committed' };
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
    this.#state = { kind: 'ending', how: 'aborted' };
    this.#aborted.abort(new RefusedError('The transaction was aborted.', false));
    try {
      await this.#settleSteps();
      this.#checkAbortResult(await this.work.end('abort'));
    } finally {
      this.#finish('aborted');
    }
  }

  #checkCommitResult(ending: EndResult): void {
    if (ending.kind === 'done') return;
    if (ending.kind === 'wrong-state' || !ending.mayHaveEnded) throw ending.error;
    this.#isCommitUnknown = true;
    throw outcomeUnknownError(ending.error);
  }

  #checkAbortResult(ending: EndResult): void {
    if (ending.kind === 'done') return;
    if (this.#isCommitUnknown)
      throw ending.kind === 'wrong-state'
        ? alreadyCommittedError(ending.error)
        : outcomeUnknownError(ending.error);
    // Nothing had begun, or whoever fenced us has aborted it: that is what was asked for.
    if (ending.kind === 'failed') throw ending.error;
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

  #finish(how: string): void {
    this.#state = { kind: 'ended', how };
    this.work.onEnded();
  }

  #requireUsable(): void {
    if (this.#state.kind !== 'open') throw alreadyEndedError(this.#state);
    if (this.#failure) throw abortRequiredError(this.#failure);
  }
}

/** A broker would store them. */
function validateOffsets(offsets: readonly OffsetCommit[]): void {
  const wrong = offsets.find(({ offset }) => !Number.isSafeInteger(offset) || offset < 0);
  if (wrong)
    throw new InvalidOptionError(
      `sendOffsets needs offsets of 0 or more; got ${wrong.offset} for ${wrong.topic}/${wrong.partition}.`,
    );
}

function abortRequiredError(cause: Error): RefusedError {
  return new RefusedError(
    `A part of the transaction failed, so that it can only be aborted: ${cause.message} Abort it.`,
    false,
    { cause },
  );
}

function alreadyEndedError({ kind, how }: Exclude<State, { kind: 'open' }>): RefusedError {
  return new RefusedError(
    kind === 'ended'
      ? `The transaction was ${how} already: begin another one.`
      : `The transaction is being ${how}: it takes nothing more.`,
    false,
  );
}

function outcomeUnknownError(cause: Error): TransactionOutcomeUnknownError {
  return new TransactionOutcomeUnknownError(
    `Whether the transaction is committed is not known, for no answer told: ${cause.message} Abort it to find out.`,
    { cause },
  );
}

function alreadyCommittedError(cause: Error): TransactionCommittedError {
  return new TransactionCommittedError(
    'The transaction cannot be aborted: its commit had come through, and all of it counts.',
    { cause },
  );
}
