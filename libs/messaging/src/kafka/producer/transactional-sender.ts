import {
  ClosedError,
  ProducerFencedError,
  RequestTimeoutError,
  SendError,
  TransactionCommittedError,
  type OutgoingRecord,
  type ProducerSession,
  type Transaction,
  type WrittenRecord,
} from '@nest-event-bus/broker';
import { Deferred, resolvesWithin, within, type Runtime } from '@nest-event-bus/broker/runtime';
import type { RecordSender } from './record-sender.js';

interface Waiting {
  readonly record: OutgoingRecord;
  readonly result: Deferred<WrittenRecord | undefined>;
  /** Its sender no longer waits, so it is not tried again. */
  isGivenUp: boolean;
}

type Outcome =
  | { readonly kind: 'committed'; readonly written: readonly WrittenRecord[] }
  /** The transaction was aborted before its commit, so nothing is written. */
  | { readonly kind: 'aborted'; readonly error: unknown }
  /** The commit failed, and may have happened nevertheless. */
  | { readonly kind: 'unknown'; readonly error: unknown };

/** The largest number of records in one transaction. */
const MAX_RECORDS = 500;
const CLOSE_WAIT_MS = 10_000;

/**
 * Writes records in transactions. Only one is open at a time: records that come meanwhile are
 * written together in the next one. A record has its result when its transaction is committed.
 */
export class TransactionalSender implements RecordSender {
  readonly #waiting: Waiting[] = [];
  #session: ProducerSession | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  /** `open` returns a session with a transactional id that no other producer has. */
  constructor(
    private readonly open: () => ProducerSession,
    private readonly runtime: Runtime,
  ) {}

  send(record: OutgoingRecord, timeoutMs: number): Promise<WrittenRecord | undefined> {
    const result = new Deferred<WrittenRecord | undefined>();
    const waiting: Waiting = { record, result, isGivenUp: false };
    this.#waiting.push(waiting);
    this.#running ??= this.#run();
    return within(this.runtime, timeoutMs, result.promise, () => {
      this.#giveUp(waiting);
      return timedOut(timeoutMs);
    });
  }

  /** Writes what waits, for a limited time. */
  async close(): Promise<void> {
    if (this.#running) await resolvesWithin(this.runtime, CLOSE_WAIT_MS, this.#running);
    this.#isClosed = true;
    for (const { result } of this.#waiting.splice(0)) result.reject(closedError());
    await this.#session?.close();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_RECORDS);
      const outcome = await this.#write(batch);
      if (outcome.kind === 'aborted' && isWorthRepeating(outcome.error))
        await this.#writeEachAlone(batch);
      else settle(batch, outcome);
    }
    this.#running = undefined;
  }

  /**
   * Sends each record again alone, so that a record that no broker accepts does not fail the others,
   * and so that a fenced session is replaced.
   */
  async #writeEachAlone(batch: readonly Waiting[]): Promise<void> {
    for (const each of batch) if (!each.isGivenUp) settle([each], await this.#write([each]));
  }

  /** Keeps nothing of a record whose sender no longer waits, unless it is being written. */
  #giveUp(waiting: Waiting): void {
    waiting.isGivenUp = true;
    const at = this.#waiting.indexOf(waiting);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  async #write(batch: readonly Waiting[]): Promise<Outcome> {
    let transaction: Transaction | undefined;
    let written: readonly WrittenRecord[];
    if (this.#isClosed) return { kind: 'aborted', error: closedError() };
    try {
      this.#session ??= this.open();
      transaction = await this.#session.transaction();
      written = await transaction.send(batch.map(({ record }) => record));
    } catch (error) {
      await this.#abandon(transaction, error);
      return { kind: 'aborted', error };
    }
    try {
      await transaction.commit();
      return { kind: 'committed', written };
    } catch (error) {
      const isCommitted = await this.#abandon(transaction, error);
      return isCommitted ? { kind: 'committed', written } : { kind: 'unknown', error };
    }
  }

  /** Ends a failed transaction. Returns whether it turned out to be committed. */
  async #abandon(transaction: Transaction | undefined, error: unknown): Promise<boolean> {
    try {
      await transaction?.abort();
    } catch (ending) {
      if (ending instanceof TransactionCommittedError) return true;
      // Any other error of the abort is less important than the one before: the next transaction
      // aborts what is left of this one.
    }
    if (!isFenced(error)) return false;
    // A fenced session writes nothing any more. The next record opens another one with a new id.
    const fenced = this.#session;
    this.#session = undefined;
    await fenced?.close();
    return false;
  }
}

/** After any other error the next attempt would fail too, and would take as long. */
const isWorthRepeating = (error: unknown): boolean => error instanceof SendError || isFenced(error);

/** A failed send of a transaction has the reason in the outcomes of its records. */
function isFenced(error: unknown): boolean {
  if (error instanceof ProducerFencedError) return true;
  if (!(error instanceof SendError)) return false;
  return error.outcomes.some((each) => each.state !== 'written' && isFenced(each.error));
}

function settle(batch: readonly Waiting[], outcome: Outcome): void {
  for (const [index, { result }] of batch.entries()) {
    if (outcome.kind === 'committed') result.resolve(outcome.written[index]);
    else result.reject(outcome.error);
  }
}

const closedError = (): Error =>
  new ClosedError(
    'The producer was closed before the message was written. Send before the application is closed.',
  );

const timedOut = (timeoutMs: number): Error =>
  new RequestTimeoutError(
    `The transaction of the message did not end within ${timeoutMs} ms. It may still be committed. Check the brokers, or raise messaging.producer.send-timeout-seconds.`,
  );
