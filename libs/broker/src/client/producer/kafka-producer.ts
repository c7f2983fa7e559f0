import { ClosedError } from '../../port/errors.js';
import type { DriverLogger } from '../../port/driver.js';
import type {
  ProducerOptions,
  ProducerSession,
  SendOptions,
  Transaction,
} from '../../port/producer.js';
import type { OutgoingRecord, WrittenRecord } from '../../port/record.js';
import { onlyInTransactions, withoutTransactionalId } from '../../port/transactional-use.js';
import { validateProducerOptions } from '../../port/validate-producer-options.js';
import { validateOutgoingRecords, validateSendOptions } from '../../port/validate-records.js';
import { codecOf, writableCompressions } from '../../records/index.js';
import { Dispatch } from './batching/dispatch.js';
import { IdentityDesk } from './idempotence/producer-id-allocator.js';
import type { SenderCluster, SenderContext } from './sender-options.js';
import { Transactions } from './transactions/index.js';

export interface KafkajsProducerOptions {
  readonly cluster: SenderCluster;
  /** Names the producer's own connections: its requests wait for nobody else's. */
  readonly producerId: string;
  readonly options?: ProducerOptions;
  readonly logger: DriverLogger;
  onClosed?(): void;
}

/** What `validateProducerOptions` has to know of the driver. */
const COMPRESSIONS = { compressions: writableCompressions };
/** The longest that `close` waits for what is under way. */
const LONGEST_CLOSE_MS = 30_000;

/**
 * Sends records to the leaders of their partitions. Every acknowledgement is by all in-sync
 * replicas; a send that fails tells of each record whether it was written. A retry after a lost
 * answer writes nothing twice, unless `idempotent` is false: then at least once. With a
 * `transactionalId` it writes in transactions, and only there.
 */
export class KafkajsProducer implements ProducerSession {
  readonly #context: SenderContext;
  readonly #onClosed: (() => void) | undefined;
  readonly #way: Dispatch | Transactions;
  #closing: Promise<void> | undefined;
  #closed: ClosedError | undefined;

  constructor({ cluster, producerId, options = {}, logger, onClosed }: KafkajsProducerOptions) {
    this.#onClosed = onClosed;
    const resolved = validateProducerOptions(options, COMPRESSIONS);
    this.#context = {
      cluster,
      logger,
      options: resolved,
      codec: codecOf(resolved.compression),
      onClusterClosed: (error) => (this.#closed ??= error),
    };
    this.#way =
      resolved.transactionalId === undefined
        ? new Dispatch(this.#context, `produce:${producerId}`, (context, onServed) =>
            resolved.idempotent ? new IdentityDesk(context, onServed) : undefined,
          )
        : new Transactions(this.#context, resolved.transactionalId, producerId);
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
    if (this.#way instanceof Transactions) return Promise.reject(onlyInTransactions());
    if (records.length === 0) return Promise.resolve([]);
    return this.#way.send(records, this.#timeoutOf(options), options.signal);
  }

  async transaction(): Promise<Transaction> {
    if (this.#closed) throw this.#closed;
    if (this.#way instanceof Transactions) return this.#way.begin();
    throw withoutTransactionalId();
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
    const closingTime = Math.min(this.#context.options.deliveryTimeoutMs, LONGEST_CLOSE_MS);
    if (this.#way instanceof Transactions) await this.#way.close(closingTime, reason);
    else {
      this.#way.hurry(true);
      await this.#way.drain(closingTime);
      this.#way.end(reason);
    }
    this.#onClosed?.();
  }
}
