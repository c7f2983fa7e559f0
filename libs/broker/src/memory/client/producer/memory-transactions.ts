import { ClosedError } from '../../../port/errors.js';
import type { Transaction } from '../../../port/producer.js';
import { oneAtATime } from '../../../port/transactional-use.js';
import { TransactionCourse } from '../../../port/transaction-course.js';
import type { ProducerIdentity } from '../../broker/transactions.js';
import type { Link } from '../link.js';
import { toBrokerError } from '../refusal-errors.js';
import { Accumulator } from './accumulator.js';
import { TransactionSink } from './batch-sink.js';
import { asFenced } from './fenced.js';
import { MemoryTransaction, type Standing } from './memory-transaction.js';
import type { QueueParts } from './partition-queue.js';

/** The transactions of one producer, one after the other. */
export class MemoryTransactions {
  #standing: Standing | undefined;
  #isBeginning = false;
  #current: TransactionCourse | undefined;
  #isClosed = false;

  constructor(
    private readonly link: Link,
    private readonly transactionalId: string,
    private readonly parts: Omit<QueueParts, 'sink' | 'onTopicMissing'>,
  ) {}

  async begin(): Promise<Transaction> {
    if (this.#isBeginning || this.#current) throw oneAtATime(this.transactionalId);
    this.#isBeginning = true;
    try {
      const identity = await this.#identity();
      if (this.#isClosed) throw closed();
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
    const { link, transactionalId, parts } = this;
    const { options, signal } = parts;
    const sink = new TransactionSink(link, transactionalId, identity);
    const accumulator = new Accumulator(link, {
      ...parts,
      sink,
      options: { ...options, lingerMs: 0 },
    });
    const { deliveryTimeoutMs } = options;
    const work = new MemoryTransaction({
      link,
      transactionalId,
      identity,
      accumulator,
      deliveryTimeoutMs,
      signal,
      onOver: (standing) => {
        accumulator.end(closed());
        this.#standing = standing;
        this.#current = undefined;
      },
    });
    return (this.#current = new TransactionCourse(work));
  }

  async #identity(): Promise<ProducerIdentity> {
    const standing = this.#standing;
    if (standing?.kind === 'fenced') throw standing.error;
    if (standing?.kind === 'ready') return standing.identity;
    const { transactionTimeoutMs } = this.parts.options;
    const { transactions } = this.link.cluster;
    try {
      const identity = await this.link.call(
        { operation: 'init-producer' },
        () => transactions.init(this.transactionalId, transactionTimeoutMs, standing?.identity),
        { signal: this.parts.signal },
      );
      this.#standing = { kind: 'ready', identity };
      return identity;
    } catch (error) {
      const fenced = asFenced(error, this.transactionalId);
      if (fenced) this.#standing = { kind: 'fenced', error: fenced };
      throw fenced ?? toBrokerError(error);
    }
  }
}

function closed(): ClosedError {
  return new ClosedError('The transaction is over, or its producer was closed.');
}
