import {
  type BrokerDriver,
  type DriverLogger,
  errorReasonOf,
  FencedError,
  ownError,
  type OffsetCommit,
  type OutgoingRecord,
  ProducerFencedError,
  type ProducerSession,
  SendError,
  type Transaction,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
} from '@nest-event-bus/broker';
import { Backoff, type Runtime, sleep } from '@nest-event-bus/broker/runtime';
import type { Assignment } from '../../model/records/assignment.js';

export interface SessionTransactionsParts {
  readonly driver: Pick<BrokerDriver, 'producer'>;
  readonly transactionalId: string;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Records to send, and the offset to commit with them. */
export interface TransactionWork {
  readonly outputs: readonly OutgoingRecord[];
  readonly offset: OffsetCommit;
  readonly assignment: Assignment;
  /**
   * Called with the error when the transaction begins to wait for the cluster, and with undefined
   * when the wait is over.
   */
  onWaiting(error: Error | undefined): void;
}

/**
 * The result of a transaction. `not-ours`: nothing was committed, because another member owns the
 * partition and will handle the records.
 */
export type TransactionResult = 'committed' | 'not-ours';

/**
 * The timeout after which the cluster aborts a transaction. It is short, because no handler runs in
 * a transaction. If a process dies, its open transaction blocks its partitions for this time,
 * unless the process restarts sooner.
 */
const TRANSACTION_TIMEOUT_MS = 30_000;
/**
 * The timeout of sending. It is shorter than the timeout of the transaction, after which the
 * cluster fences the producer.
 */
const DELIVERY_TIMEOUT_MS = 20_000;
const RETRY = { initialMs: 100, maxMs: 5_000 };

/**
 * The transactions of one session. Its partitions share one producer, and their transactions run
 * one after the other.
 */
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
   * Aborts the transaction that an earlier process with the same id has left open, and fences that
   * process. Called before the session joins the group, because the committed offsets are unknown
   * while a transaction is open.
   */
  abortPredecessor(): void {
    void this.#enqueue(() => this.#retryUntilClosed(() => this.#abortOpenTransaction()));
  }

  /**
   * Commits records and offset in a transaction. Rejects with the reason if nothing was committed.
   */
  async commit(work: TransactionWork): Promise<TransactionResult> {
    this.#waiting.add(work);
    if (this.#lastError) work.onWaiting(this.#lastError);
    try {
      return await this.#enqueue(() => this.#commit(work));
    } finally {
      this.#waiting.delete(work);
    }
  }

  /** Closes the producer. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(ownError(new Error('The session is closed.')));
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
      if (!assignment.isCommittingStopped)
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
      // The failed transaction can never be committed, because the next one begins with its abort.
    }
    await this.#replaceFencedProducer(error);
    if (error instanceof FencedError) return 'not-ours';
    throw error;
  }

  /**
   * Finds out whether a commit without an answer succeeded. A wrong assumption would repeat the
   * work or lose it, so the committed offset of the group is read while the partition is assigned
   * to this session.
   */
  async #resolveUnknownOutcome(work: TransactionWork, unknown: Error): Promise<TransactionResult> {
    const { topic, partition, offset } = work.offset;
    this.parts.logger.warn(
      'The commit of a transaction got no answer: the committed offset of the group decides',
      {
        topic,
        partition,
        reason: errorReasonOf(unknown),
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

  /**
   * Begins and aborts an empty transaction, which ends any earlier transaction that is still open.
   */
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

  /**
   * Replaces a producer that was fenced, by a timeout or by another process with the same id. A
   * fenced producer can never be used again.
   */
  async #replaceFencedProducer(error: unknown): Promise<void> {
    if (!isFence(error) || this.#closing.signal.aborted) return;
    const { transactionalId, logger } = this.parts;
    logger.warn(
      'A transaction was fenced. Should this go on, another process has the same transactional id: give each a transactions.idPrefix of its own',
      { transactionalId, reason: errorReasonOf(error) },
    );
    const fenced = this.#producer;
    this.#producer = this.#newProducer();
    await this.#closeProducer(fenced);
  }

  /** Retries with a backoff until the attempt succeeds or the session is closed. */
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

  /**
   * Logs the first error and the recovery, and reports every error to the transactions that wait.
   */
  #reportError(trouble: Error | undefined): void {
    const { transactionalId, logger } = this.parts;
    if (trouble && !this.#lastError)
      logger.warn('Transactions wait for the cluster', {
        transactionalId,
        reason: errorReasonOf(trouble),
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
      this.parts.logger.warn('A transactional producer did not close cleanly', {
        reason: errorReasonOf(error),
      }),
    );
  }
}

function isFence(error: unknown): boolean {
  if (error instanceof ProducerFencedError) return true;
  const wraps = error instanceof SendError || error instanceof TransactionOutcomeUnknownError;
  return wraps && isFence(error.cause);
}
