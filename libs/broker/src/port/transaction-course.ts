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

export type Verdict = 'commit' | 'abort';

/** How the cluster took the end of a transaction. `mayHaveEnded`: an attempt had left, and no answer told. */
export type Ending =
  | { readonly kind: 'done' }
  /** It has ended the other way before, or was never begun. */
  | { readonly kind: 'otherwise'; readonly error: Error }
  | { readonly kind: 'fenced'; readonly error: ProducerFencedError; readonly mayHaveEnded: boolean }
  | { readonly kind: 'failed'; readonly error: Error; readonly mayHaveEnded: boolean };

/** What a driver does for a transaction. When, and whether at all, decides its TransactionCourse. */
export interface TransactionWork {
  /** `signal` aborts when the transaction does: what has not left stays here, nothing is tried again. */
  send(records: readonly OutgoingRecord[], signal: AbortSignal): Promise<readonly WrittenRecord[]>;
  sendOffsets(offsets: TransactionOffsets, signal: AbortSignal): Promise<void>;
  /** The end is near: nothing has to wait for company any more. */
  hurry(): void;
  /** Nothing else is under way meanwhile. Never rejects. */
  end(verdict: Verdict): Promise<Ending>;
  /** No call will come any more: the producer is free for the next transaction. */
  over(): void;
}

type State =
  | { readonly kind: 'open' }
  | { readonly kind: 'ending'; readonly how: string }
  | { readonly kind: 'over'; readonly how: string };

const OPEN: State = { kind: 'open' };

/**
 * The course of every transaction, whichever driver carries it out:
 *
 *   open → ending (all steps are awaited) → over
 *     ↑        │
 *     └────────┘ a commit that failed: only `abort` is left, as after any step that failed
 */
export class TransactionCourse implements Transaction {
  readonly #running = new Set<Promise<unknown>>();
  readonly #abandoned = new AbortController();
  #state: State = OPEN;
  #failure: Error | undefined;
  #ending: Promise<void> | undefined;
  #isCommitUnknown = false;

  constructor(private readonly work: TransactionWork) {
    // Every step may listen, and Node would take more than ten for a leak.
    setMaxListeners(0, this.#abandoned.signal);
  }

  send(records: readonly OutgoingRecord[]): Promise<readonly WrittenRecord[]> {
    return this.#step(async () => {
      validateOutgoingRecords(records);
      return records.length === 0 ? [] : this.work.send(records, this.#abandoned.signal);
    });
  }

  sendOffsets(offsets: TransactionOffsets): Promise<void> {
    return this.#step(async () => {
      validateOffsets(offsets.offsets);
      if (offsets.offsets.length > 0) await this.work.sendOffsets(offsets, this.#abandoned.signal);
    });
  }

  async commit(): Promise<void> {
    this.#requireGood();
    await (this.#ending = this.#commit());
  }

  abort(): Promise<void> {
    if (this.#state.kind === 'open') this.#ending = this.#abort();
    else if (this.#state.how !== 'aborted') return Promise.reject(tooLate(this.#state));
    return this.#ending as Promise<void>;
  }

  /** For whoever closes the producer: what is open ends. Never rejects. */
  async close(): Promise<void> {
    await this.#ending?.catch(() => undefined);
    if (this.#state.kind === 'open') await this.abort().catch(() => undefined);
  }

  async #commit(): Promise<void> {
    this.#state = { kind: 'ending', how: 'committed' };
    try {
      await this.#settle();
      if (this.#failure) throw broken(this.#failure);
      this.#judgeCommit(await this.work.end('commit'));
    } catch (error) {
      this.#failure ??= error as Error;
      this.#state = OPEN;
      throw error;
    }
    this.#over('committed');
  }

  async #abort(): Promise<void> {
    this.#state = { kind: 'ending', how: 'aborted' };
    this.#abandoned.abort(new RefusedError('The transaction was aborted.', false));
    try {
      await this.#settle();
      this.#judgeAbort(await this.work.end('abort'));
    } finally {
      this.#over('aborted');
    }
  }

  #judgeCommit(ending: Ending): void {
    if (ending.kind === 'done') return;
    if (ending.kind === 'otherwise' || !ending.mayHaveEnded) throw ending.error;
    this.#isCommitUnknown = true;
    throw unknown(ending.error);
  }

  #judgeAbort(ending: Ending): void {
    if (ending.kind === 'done') return;
    if (this.#isCommitUnknown)
      throw ending.kind === 'otherwise' ? committed(ending.error) : unknown(ending.error);
    // Nothing had begun, or whoever fenced us has aborted it: that is what was asked for.
    if (ending.kind === 'failed') throw ending.error;
  }

  async #step<T>(step: () => Promise<T>): Promise<T> {
    this.#requireGood();
    const running = step();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      this.#failure ??= error as Error;
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  #settle(): Promise<unknown> {
    this.work.hurry();
    return Promise.allSettled(this.#running);
  }

  #over(how: string): void {
    this.#state = { kind: 'over', how };
    this.work.over();
  }

  #requireGood(): void {
    if (this.#state.kind !== 'open') throw tooLate(this.#state);
    if (this.#failure) throw broken(this.#failure);
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

function broken(cause: Error): RefusedError {
  return new RefusedError(
    `A part of the transaction failed, so that it can only be aborted: ${cause.message} Abort it.`,
    false,
    { cause },
  );
}

function tooLate({ kind, how }: Exclude<State, { kind: 'open' }>): RefusedError {
  return new RefusedError(
    kind === 'over'
      ? `The transaction was ${how} already: begin another one.`
      : `The transaction is being ${how}: it takes nothing more.`,
    false,
  );
}

function unknown(cause: Error): TransactionOutcomeUnknownError {
  return new TransactionOutcomeUnknownError(
    `Whether the transaction is committed is not known, for no answer told: ${cause.message} Abort it to find out.`,
    { cause },
  );
}

function committed(cause: Error): TransactionCommittedError {
  return new TransactionCommittedError(
    'The transaction cannot be aborted: its commit had come through, and all of it counts.',
    { cause },
  );
}
