import type { BrokerCapabilities } from '../../../port/driver.js';
import { ClosedError, UnsupportedError } from '../../../port/errors.js';
import type { ProducerSession, SendOptions, Transaction } from '../../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../../port/record.js';
import type { ResolvedProducerOptions } from '../../../port/validate-producer-options.js';
import {
  transactionsOnlyError,
  missingTransactionalIdError,
} from '../../../port/transactional-errors.js';
import { validateOutgoingRecords, validateSendOptions } from '../../../port/validate-records.js';
import { within } from '../../../runtime/index.js';
import type { Connection } from '../connection.js';
import { Accumulator } from './accumulator.js';
import { IdempotentSink, PlainSink } from './batch-sink.js';
import { BufferBudget } from './buffer-budget.js';
import { MemoryTransactions } from './memory-transactions.js';

/** Writes to a memory broker, idempotently by default. */
export class MemoryProducer implements ProducerSession {
  readonly #accumulator: Accumulator;
  readonly #transactions: MemoryTransactions | undefined;
  readonly #forcedClose = new AbortController();
  readonly #sends = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly options: ResolvedProducerOptions,
    private readonly capabilities: Pick<BrokerCapabilities, 'transactions'>,
  ) {
    const context = {
      options,
      budget: new BufferBudget(options.bufferBytes),
      runtime: connection.cluster.runtime,
      signal: this.#forcedClose.signal,
    };
    const sink = options.idempotent ? new IdempotentSink(connection) : new PlainSink(connection);
    this.#accumulator = new Accumulator(connection, { ...context, sink });
    if (options.transactionalId !== undefined)
      this.#transactions = new MemoryTransactions(connection, options.transactionalId, context);
  }

  async send(
    records: readonly OutgoingRecord[],
    options: SendOptions = {},
  ): Promise<readonly WrittenRecord[]> {
    if (this.#closing) throw closedError();
    validateOutgoingRecords(records);
    validateSendOptions(options);
    if (this.#transactions) throw transactionsOnlyError();
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
    if (this.#closing) throw closedError();
    if (!this.capabilities.transactions)
      throw new UnsupportedError(
        'This memory driver has the option transactions: false. Set it to true for transactions.',
      );
    if (!this.#transactions) throw missingTransactionalIdError();
    return this.#transactions.begin();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { runtime } = this.connection.cluster;
    this.#accumulator.flush();
    const settled = Promise.allSettled([...this.#sends, this.#transactions?.close()]);
    const boundMs = this.options.requestTimeoutMs;
    await within(runtime, boundMs, settled, closedError).catch(() => undefined);
    this.#forcedClose.abort(closedError());
    this.#accumulator.end(closedError());
    await settled;
  }
}

function closedError(): ClosedError {
  return new ClosedError('This producer was closed: make another one.');
}
