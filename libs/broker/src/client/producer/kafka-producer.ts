import { ClosedError } from '../../port/errors.js';
import type { DriverLogger } from '../../port/driver.js';
import type {
  ProducerOptions,
  ProducerSession,
  SendOptions,
  Transaction,
} from '../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../port/record.js';
import {
  transactionsOnlyError,
  missingTransactionalIdError,
} from '../../port/transactional-errors.js';
import { validateProducerOptions } from '../../port/validate-producer-options.js';
import { validateOutgoingRecords, validateSendOptions } from '../../port/validate-records.js';
import { codecOf, writableCompressions } from '../../records/index.js';
import { SendPipeline } from './batching/send-pipeline.js';
import { ProducerIdAllocator } from './idempotence/producer-id-allocator.js';
import type { SenderContext } from './sender-context.js';
import { TransactionManager } from './transactions/index.js';
import type { ClusterClient } from '../../wire/index.js';

export interface KafkaProducerOptions {
  readonly cluster: ClusterClient;
  /**
   * Part of the names of the producer's connections. Its requests do not wait for requests of other
   * sessions.
   */
  readonly producerId: string;
  readonly options?: ProducerOptions;
  readonly logger: DriverLogger;
  onClosed?(): void;
}

/** The capabilities that `validateProducerOptions` checks the options against. */
const DRIVER_CAPABILITIES = { compressions: writableCompressions };
/** The longest time that `close` waits for records in flight. */
const MAX_CLOSE_MS = 30_000;

/**
 * Sends records to the leaders of their partitions. Every write is acknowledged by all in-sync
 * replicas. A failed send reports for each record whether it was written. A retry after a lost
 * response writes no record twice; with `idempotent: false` delivery is at least once. With a
 * `transactionalId` the producer writes in transactions only.
 */
export class KafkaProducer implements ProducerSession {
  readonly #context: SenderContext;
  readonly #onClosed: (() => void) | undefined;
  readonly #sender: SendPipeline | TransactionManager;
  #closing: Promise<void> | undefined;
  #closed: ClosedError | undefined;

  constructor({ cluster, producerId, options = {}, logger, onClosed }: KafkaProducerOptions) {
    this.#onClosed = onClosed;
    const resolved = validateProducerOptions(options, DRIVER_CAPABILITIES);
    this.#context = {
      cluster,
      logger,
      options: resolved,
      codec: codecOf(resolved.compression),
      onClusterClosed: (error) => (this.#closed ??= error),
    };
    this.#sender =
      resolved.transactionalId === undefined
        ? new SendPipeline(this.#context, `produce:${producerId}`, (context, onRegistered) =>
            resolved.idempotent ? new ProducerIdAllocator(context, onRegistered) : undefined,
          )
        : new TransactionManager(this.#context, resolved.transactionalId, producerId);
  }

  send(
    records: readonly OutgoingRecord[],
    options: SendOptions = {},
  ): Promise<readonly WrittenRecord[]> {
    if (this.#closed) return Promise.reject(this.#closed);
    try {
      validateOutgoingRecords(records);
      validateSendOptions(options);
    } catch (error) {
      return Promise.reject(error);
    }
    if (this.#sender instanceof TransactionManager) return Promise.reject(transactionsOnlyError());
    if (records.length === 0) return Promise.resolve([]);
    return this.#sender.send(records, this.#timeoutOf(options), options.signal);
  }

  async transaction(): Promise<Transaction> {
    if (this.#closed) throw this.#closed;
    if (this.#sender instanceof TransactionManager) return this.#sender.begin();
    throw missingTransactionalIdError();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #timeoutOf({ timeoutMs }: SendOptions): number {
    const { deliveryTimeoutMs } = this.#context.options;
    return Math.min(timeoutMs ?? deliveryTimeoutMs, deliveryTimeoutMs);
  }

  async #close(): Promise<void> {
    const reason = (this.#closed ??= new ClosedError(
      'The producer was closed. Open a new one to send again.',
    ));
    const closingTime = Math.min(this.#context.options.deliveryTimeoutMs, MAX_CLOSE_MS);
    if (this.#sender instanceof TransactionManager) await this.#sender.close(closingTime, reason);
    else {
      this.#sender.skipLinger(true);
      await this.#sender.drain(closingTime);
      this.#sender.close(reason);
    }
    this.#onClosed?.();
  }
}
