import {
  ProducerFencedError,
  RequestTimeoutError,
  SendError,
  type OutgoingRecord,
  type ProducerSession,
  type Transaction,
  type WrittenRecord,
} from '@nest-event-bus/broker';
import { Deferred, within, type Runtime } from '@nest-event-bus/broker/runtime';
import type { RecordSender } from './record-sender.js';

interface Waiting {
  readonly record: OutgoingRecord;
  readonly result: Deferred<WrittenRecord | undefined>;
}

type Outcome =
  | { readonly kind: 'committed'; readonly written: readonly WrittenRecord[] }
  /** The transaction was aborted before its commit, so nothing is written. */
  | { readonly kind: 'aborted'; readonly error: unknown }
  /** The commit failed, and may have happened nevertheless. */
  | { readonly kind: 'unknown'; readonly error: unknown };

/** The largest number of records in one transaction. */
const MAX_RECORDS = 500;

/**
 * Writes records in transactions. Only one is open at a time: records that come meanwhile are
 * written together in the next one. A record has its result when its transaction is committed.
 */
export class TransactionalSender implements RecordSender {
  readonly #waiting: Waiting[] = [];
  #session: ProducerSession | undefined;
  #running: Promise<void> | undefined;

  /** `open` returns a session with a transactional id that no other producer has. */
  constructor(
    private readonly open: () => ProducerSession,
    private readonly runtime: Runtime,
  ) {}

  send(record: OutgoingRecord, timeoutMs: number): Promise<WrittenRecord | undefined> {
    const result = new Deferred<WrittenRecord | undefined>();
    this.#waiting.push({ record, result });
    this.#running ??= this.#run();
    return within(this.runtime, timeoutMs, result.promise, () => timedOut(timeoutMs));
  }

  async close(): Promise<void> {
    await this.#running;
    await this.#session?.close();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_RECORDS);
      const outcome = await this.#write(batch);
      // Sends each record again alone, so that a record that no broker accepts does not fail the
      // others, and so that a fenced session is replaced.
      if (outcome.kind === 'aborted')
        for (const each of batch) settle([each], await this.#write([each]));
      else settle(batch, outcome);
    }
    this.#running = undefined;
  }

  async #write(batch: readonly Waiting[]): Promise<Outcome> {
    let transaction: Transaction | undefined;
    let written: readonly WrittenRecord[];
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
      await this.#abandon(transaction, error);
      return { kind: 'unknown', error };
    }
  }

  async #abandon(transaction: Transaction | undefined, error: unknown): Promise<void> {
    // The error of the abort is less important than the one before: the next transaction aborts
    // what is left of this one.
    await transaction?.abort().catch(() => undefined);
    if (!isFenced(error)) return;
    // A fenced session writes nothing any more. The next record opens another one with a new id.
    const fenced = this.#session;
    this.#session = undefined;
    await fenced?.close();
  }
}

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

const timedOut = (timeoutMs: number): Error =>
  new RequestTimeoutError(
    `The transaction of the message did not end within ${timeoutMs} ms. It may still be committed. Check the brokers, or raise messaging.producer.send-timeout-seconds.`,
  );
