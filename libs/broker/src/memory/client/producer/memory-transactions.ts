import { ClosedError } from '../../../port/errors.js';
import type { Transaction } from '../../../port/producer.js';
import { transactionOpenError } from '../../../port/transactional-errors.js';
import { TransactionLifecycle } from '../../../port/transaction-lifecycle.js';
import type { ProducerIdentity } from '../../broker/transactions/transactions.js';
import type { Connection } from '../connection.js';
import { toBrokerError } from '../refusal-errors.js';
import { Accumulator } from './accumulator.js';
import { TransactionSink } from './batch-sink.js';
import { asProducerFencedError } from './producer-fenced.js';
import { MemoryTransaction, type ProducerState } from './memory-transaction.js';
import type { QueueContext } from './partition-queue.js';

/** The transactions of one producer, one after the other. */
export class MemoryTransactions {
  #state: ProducerState | undefined;
  #isBeginning = false;
  #current: TransactionLifecycle | undefined;
  #isClosed = false;

  constructor(
    private readonly connection: Connection,
    private readonly transactionalId: string,
    private readonly context: Omit<QueueContext, 'sink' | 'onTopicMissing'>,
  ) {}

  async begin(): Promise<Transaction> {
    if (this.#isBeginning || this.#current) throw transactionOpenError(this.transactionalId);
    this.#isBeginning = true;
    try {
      const identity = await this.#identity();
      if (this.#isClosed) throw closedError();
      return this.#open(identity);
    } finally {
      this.#isBeginning = false;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#current?.close();
  }

  #open(identity: ProducerIdentity): Transaction {
    const { connection, transactionalId, context } = this;
    const { options, signal } = context;
    const sink = new TransactionSink(connection, transactionalId, identity);
    const accumulator = new Accumulator(connection, {
      ...context,
      sink,
      options: { ...options, lingerMs: 0 },
    });
    const { deliveryTimeoutMs } = options;
    const work = new MemoryTransaction({
      connection,
      transactionalId,
      identity,
      accumulator,
      deliveryTimeoutMs,
      signal,
      onEnded: (state) => {
        accumulator.end(closedError());
        this.#state = state;
        this.#current = undefined;
      },
    });
    return (this.#current = new TransactionLifecycle(work));
  }

  async #identity(): Promise<ProducerIdentity> {
    const state = this.#state;
    if (state?.kind === 'fenced') throw state.error;
    if (state?.kind === 'ready') return state.identity;
    const { transactionTimeoutMs } = this.context.options;
    const { transactions } = this.connection.cluster;
    try {
      const identity = await this.connection.call(
        { operation: 'init-producer' },
        () => transactions.init(this.transactionalId, transactionTimeoutMs, state?.identity),
        { signal: this.context.signal },
      );
      this.#state = { kind: 'ready', identity };
      return identity;
    } catch (error) {
      const fenced = asProducerFencedError(error, this.transactionalId);
      if (fenced) this.#state = { kind: 'fenced', error: fenced };
      throw fenced ?? toBrokerError(error);
    }
  }
}

function closedError(): ClosedError {
  return new ClosedError('The transaction has ended, or its producer was closed.');
}
