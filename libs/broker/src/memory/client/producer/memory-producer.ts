import { ClosedError, RefusedError } from '../../../port/errors.js';
import type { ProducerSession, SendOptions, Transaction } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import type { ResolvedProducerOptions } from '../../../port/validate-options.js';
import { validateOutgoingRecords, validateSendOptions } from '../../../port/validate-records.js';
import { within } from '../../../runtime/index.js';
import type { ProducerIdentity } from '../../broker/transactions.js';
import type { Link } from '../link.js';
import { toBrokerError } from '../refusal-errors.js';
import { Accumulator } from './accumulator.js';
import { type BatchSink, IdempotentSink, PlainSink, TransactionSink } from './batch-sink.js';
import { BufferBudget } from './buffer-budget.js';
import { MemoryTransaction } from './memory-transaction.js';

const TRANSACTION_TIMEOUT_MS = 60_000;

/** Writes to a memory broker, idempotently unless the options say otherwise. */
export class MemoryProducer implements ProducerSession {
  readonly #budget: BufferBudget;
  readonly #accumulator: Accumulator;
  readonly #transactionalId: string;
  readonly #forced = new AbortController();
  readonly #sends = new Set<Promise<unknown>>();
  #nextIdentity: ProducerIdentity | undefined;
  #isInTransaction = false;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly link: Link,
    private readonly options: ResolvedProducerOptions,
  ) {
    const { runtime } = link.cluster;
    this.#budget = new BufferBudget(options.bufferBytes);
    this.#transactionalId = `${link.clientId}-${runtime.uuid()}`;
    const sink = options.idempotent ? new IdempotentSink(link) : new PlainSink(link);
    this.#accumulator = this.#newAccumulator(sink, options);
  }

  async send(
    records: readonly OutgoingRecord[],
    options: SendOptions = {},
  ): Promise<readonly WrittenRecord[]> {
    if (this.#closing) throw closed();
    validateOutgoingRecords(records);
    validateSendOptions(options);
    if (records.length === 0) return [];
    const sending = this.#accumulator.send(records, options);
    this.#sends.add(sending);
    try {
      return await sending;
    } finally {
      this.#sends.delete(sending);
    }
  }

  async transaction(): Promise<Transaction> {
    if (this.#closing) throw closed();
    if (this.#isInTransaction)
      throw new RefusedError(
        'A transaction of this producer is open: commit or abort it first, or use another producer.',
        false,
      );
    this.#isInTransaction = true;
    try {
      return this.#begin(this.#nextIdentity ?? (await this.#init()));
    } catch (error) {
      this.#isInTransaction = false;
      throw toBrokerError(error);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { runtime } = this.link.cluster;
    this.#accumulator.flush();
    const settled = Promise.allSettled([...this.#sends]);
    const boundMs = this.options.requestTimeoutMs;
    await within(runtime, boundMs, settled, closed).catch(() => undefined);
    this.#forced.abort(closed());
    this.#accumulator.end(closed());
    await settled;
  }

  #begin(identity: ProducerIdentity): Transaction {
    const { link, options } = this;
    const sink = new TransactionSink(link, this.#transactionalId, identity);
    const accumulator = this.#newAccumulator(sink, { ...options, lingerMs: 0 });
    return new MemoryTransaction({
      link,
      identity,
      transactionalId: this.#transactionalId,
      accumulator,
      deliveryTimeoutMs: options.deliveryTimeoutMs,
      signal: this.#forced.signal,
      onEnded: (next) => {
        accumulator.end(closed());
        this.#nextIdentity = next;
        this.#isInTransaction = false;
      },
    });
  }

  #init(): Promise<ProducerIdentity> {
    const { transactions } = this.link.cluster;
    return this.link.call(
      { operation: 'init-producer' },
      () => transactions.init(this.#transactionalId, TRANSACTION_TIMEOUT_MS),
      { signal: this.#forced.signal },
    );
  }

  #newAccumulator(sink: BatchSink, options: ResolvedProducerOptions): Accumulator {
    return new Accumulator(this.link, {
      sink,
      options,
      budget: this.#budget,
      runtime: this.link.cluster.runtime,
      signal: this.#forced.signal,
    });
  }
}

function closed(): ClosedError {
  return new ClosedError('This producer was closed: make another one.');
}
