import {
  FencedError,
  ProducerFencedError,
  SendError,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
  type BrokerDriver,
  type DriverLogger,
  type OffsetCommit,
  type OutgoingRecord,
  type ProducerSession,
  type Transaction,
} from '@nest-event-bus/broker';
import { Backoff, type Runtime, sleep } from '@nest-event-bus/broker/runtime';
import type { Assignment } from '../../model/records/assignment.js';

export interface SessionTransactionsParts {
  readonly driver: Pick<BrokerDriver, 'producer'>;
  readonly transactionalId: string;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Records, and the progress that they are the result of. */
export interface TransactionWork {
  readonly outputs: readonly OutgoingRecord[];
  readonly offset: OffsetCommit;
  readonly assignment: Assignment;
  /** It waits for the cluster; undefined when that is over. */
  onWaiting(error: Error | undefined): void;
}

/** `not-ours`: none of it counts, and whoever owns the partition now does the work. */
export type TransactionResult = 'committed' | 'not-ours';

/**
 * No handler runs in a transaction, so it is short; one that a process left open when it died holds
 * up its partitions for so long, unless the process comes back sooner.
 */
const TRANSACTION_TIMEOUT_MS = 30_000;
/** It is given up before the cluster does so, which would fence the producer. */
const DELIVERY_TIMEOUT_MS = 20_000;
const RETRY = { initialMs: 100, maxMs: 5_000 };

/** The transactions of one session: its partitions take turns with its one producer. */
export class SessionTransactions {
  readonly #closing = new AbortController();
  readonly #waiting = new Set<TransactionWork>();
  #lastError: Error | undefined;
  #producer: ProducerSession;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: SessionTransactionsParts) {
    this.#producer = this.#newProducer();
  }

  /**
   * What an earlier process with this id has left open is aborted, and that process fenced. Asked
   * for before the session joins: until it is aborted nobody can tell where its partitions begin.
   */
  abortPredecessor(): void {
    void this.#enqueue(() => this.#retryUntilClosed(() => this.#abortOpenTransaction()));
  }

  /** Rejects with the reason for which none of it counts. */
  async commit(work: TransactionWork): Promise<TransactionResult> {
    this.#waiting.add(work);
    if (this.#lastError) work.onWaiting(this.#lastError);
    try {
      return await this.#enqueue(() => this.#commit(work));
    } finally {
      this.#waiting.delete(work);
    }
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The session is closed.'));
    await this.#closeProducer(this.#producer);
  }

  async #commit(work: TransactionWork): Promise<TransactionResult> {
    const { outputs, offset, assignment } = work;
    if (!assignment.member()) return 'not-ours';
    const transaction = await this.#begin();
    try {
      await transaction.send(outputs);
      const member = assignment.member();
      if (!member) throw new FencedError([offset], 'The partition was taken away.');
      await transaction.sendOffsets({ ...member, offsets: [offset] });
      await transaction.commit();
      return 'committed';
    } catch (error) {
      return this.#failed(transaction, error, work);
    }
  }

  async #failed(
    transaction: Transaction,
    error: unknown,
    work: TransactionWork,
  ): Promise<TransactionResult> {
    try {
      await transaction.abort();
    } catch (ending) {
      if (ending instanceof TransactionCommittedError) return 'committed';
      if (error instanceof TransactionOutcomeUnknownError)
        return this.#resolveUnknownOutcome(work, error);
      // Nothing of it can count any more: the next transaction begins with its abort.
    }
    await this.#replaceFencedProducer(error);
    if (error instanceof FencedError) return 'not-ours';
    throw error;
  }

  /**
   * Whether the commit came through. To guess wrong would double the work or lose it, so it is
   * asked for as long as the partition is ours: the group's offset tells.
   */
  async #resolveUnknownOutcome(work: TransactionWork, unknown: Error): Promise<TransactionResult> {
    const { topic, partition, offset } = work.offset;
    this.parts.logger.warn(
      'It is not known whether a transaction is committed: the cluster is asked',
      {
        topic,
        partition,
        reason: unknown.message,
      },
    );
    await this.#replaceFencedProducer(unknown);
    let stored: number | undefined;
    await this.#retryUntilClosed(async () => {
      if (!work.assignment.member()) return;
      await this.#abortOpenTransaction();
      stored = await work.assignment.stored();
    });
    if (stored === undefined) return 'not-ours';
    if (stored >= offset) return 'committed';
    throw unknown;
  }

  /** An empty transaction: whatever was open before it is ended. */
  async #abortOpenTransaction(): Promise<void> {
    await (await this.#begin()).abort();
  }

  async #begin(): Promise<Transaction> {
    try {
      return await this.#producer.transaction();
    } catch (error) {
      await this.#replaceFencedProducer(error);
      throw error;
    }
  }

  /** By a time-out, or by another process with this id: only a new producer can go on. */
  async #replaceFencedProducer(error: unknown): Promise<void> {
    if (!isFence(error) || this.#closing.signal.aborted) return;
    const { transactionalId, logger } = this.parts;
    logger.warn(
      'A transaction was fenced. Should this go on, another process has the same transactional id: give each a transactions.idPrefix of its own',
      { transactionalId, reason: String(error) },
    );
    const fenced = this.#producer;
    this.#producer = this.#newProducer();
    await this.#closeProducer(fenced);
  }

  /** Until it succeeds or the session is closed. */
  async #retryUntilClosed(attempt: () => Promise<void>): Promise<void> {
    const { runtime } = this.parts;
    const backoff = new Backoff(runtime, RETRY);
    while (!this.#closing.signal.aborted) {
      try {
        await attempt();
        return this.#reportError(undefined);
      } catch (error) {
        this.#reportError(error as Error);
        await sleep(runtime, backoff.next(), this.#closing.signal).catch(() => undefined);
      }
    }
  }

  /** In the log when it begins and when it ends; to those that wait, always. */
  #reportError(trouble: Error | undefined): void {
    const { transactionalId, logger } = this.parts;
    if (trouble && !this.#lastError)
      logger.warn('Transactions wait for the cluster', {
        transactionalId,
        reason: String(trouble),
      });
    if (this.#lastError && !trouble) logger.info('Transactions go on', { transactionalId });
    this.#lastError = trouble;
    for (const work of this.#waiting) work.onWaiting(trouble);
  }

  #enqueue<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(step);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #newProducer(): ProducerSession {
    return this.parts.driver.producer({
      transactionalId: this.parts.transactionalId,
      transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      requestTimeoutMs: DELIVERY_TIMEOUT_MS / 2,
      lingerMs: 0,
    });
  }

  async #closeProducer(producer: ProducerSession): Promise<void> {
    await producer.close().catch((error: unknown) =>
      this.parts.logger.warn('A transactional producer did not close in order', {
        reason: String(error),
      }),
    );
  }
}

function isFence(error: unknown): boolean {
  if (error instanceof ProducerFencedError) return true;
  const wraps = error instanceof SendError || error instanceof TransactionOutcomeUnknownError;
  return wraps && isFence(error.cause);
}
