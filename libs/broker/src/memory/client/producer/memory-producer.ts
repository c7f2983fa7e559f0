import { ClosedError } from '../../../port/errors.js';
import type { ProducerSession, SendOptions, Transaction } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import type { ResolvedProducerOptions } from '../../../port/validate-producer-options.js';
import { onlyInTransactions, withoutTransactionalId } from '../../../port/transactional-use.js';
import { validateOutgoingRecords, validateSendOptions } from '../../../port/validate-records.js';
import { within } from '../../../runtime/index.js';
import type { Link } from '../link.js';
import { Accumulator } from './accumulator.js';
import { IdempotentSink, PlainSink } from './batch-sink.js';
import { BufferBudget } from './buffer-budget.js';
import { MemoryTransactions } from './memory-transactions.js';

/** Writes to a memory broker, idempotently unless the options say otherwise. */
export class MemoryProducer implements ProducerSession {
  readonly #accumulator: Accumulator;
  readonly #transactions: MemoryTransactions | undefined;
  readonly #forced = new AbortController();
  readonly #sends = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(
    private readonly link: Link,
    private readonly options: ResolvedProducerOptions,
  ) {
    const parts = {
      options,
      budget: new BufferBudget(options.bufferBytes),
      runtime: link.cluster.runtime,
      signal: this.#forced.signal,
    };
    const sink = options.idempotent ? new IdempotentSink(link) : new PlainSink(link);
    this.#accumulator = new Accumulator(link, { ...parts, sink });
    if (options.transactionalId !== undefined)
      this.#transactions = new MemoryTransactions(link, options.transactionalId, parts);
  }

  async send(
    records: readonly OutgoingRecord[],
    options: SendOptions = {},
  ): Promise<readonly WrittenRecord[]> {
    if (this.#closing) throw closed();
    validateOutgoingRecords(records);
    validateSendOptions(options);
    if (this.#transactions) throw onlyInTransactions();
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
    if (!this.#transactions) throw withoutTransactionalId();
    return this.#transactions.begin();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { runtime } = this.link.cluster;
    this.#accumulator.flush();
    const settled = Promise.allSettled([...this.#sends, this.#transactions?.close()]);
    const boundMs = this.options.requestTimeoutMs;
    await within(runtime, boundMs, settled, closed).catch(() => undefined);
    this.#forced.abort(closed());
    this.#accumulator.end(closed());
    await settled;
  }
}

function closed(): ClosedError {
  return new ClosedError('This producer was closed: make another one.');
}
