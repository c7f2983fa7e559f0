import type { EndTransactionResponse, TransactionalProducer } from '../../../wire/index.js';
import { SendPipeline } from '../batching/send-pipeline.js';
import type { SenderContext } from '../sender-context.js';
import type { CoordinatorClient } from './coordinator-client.js';
import { ExplicitPartitionRegistrar } from './explicit-partition-registrar.js';
import { ImplicitPartitionRegistrar } from './implicit-partition-registrar.js';
import type { TransactionPartitionRegistrar } from './transaction-partition-registrar.js';

/**
 * The state that consecutive transactions share if they succeed: the send pipeline and, in protocol
 * v1, the epoch with its sequence numbers. After a failure the epoch is stale, because a delayed
 * request could change the next transaction, which then needs another epoch. In protocol v2 every
 * transaction that has certainly ended has increased the epoch already.
 */
export class ProducerEpoch {
  readonly pipeline: SendPipeline;
  readonly #registrar: TransactionPartitionRegistrar;
  #producer: TransactionalProducer;
  #successor: TransactionalProducer | undefined;
  #isStale = false;
  /** True until the coordinator has confirmed the end of the latest transaction. */
  mayBeOpen = false;

  constructor(
    producer: TransactionalProducer,
    context: SenderContext,
    channel: string,
    coordinator: CoordinatorClient,
  ) {
    this.#producer = producer;
    this.#registrar =
      producer.protocol === 'v2'
        ? new ImplicitPartitionRegistrar(producer)
        : new ExplicitPartitionRegistrar(producer, coordinator, () => this.onUnknownEffect());
    this.pipeline = new SendPipeline(
      { ...context, transactionProtocol: producer.protocol },
      channel,
      (_, onRegistered) => this.#registrar.notify(onRegistered),
    );
  }

  get producer(): TransactionalProducer {
    return this.#producer;
  }

  /**
   * The producer id and epoch of the next transaction, if the end of the previous one has returned
   * them.
   */
  get successor(): TransactionalProducer | undefined {
    return this.#successor;
  }

  get isStale(): boolean {
    return this.#isStale;
  }

  /** True if the current transaction has sent records, or tried to. */
  get hasBegun(): boolean {
    return this.#registrar.hasBegun;
  }

  markStale(): void {
    this.#isStale = true;
  }

  /**
   * Marks the epoch as stale in protocol v1. A request that was repeated may be executed a second
   * time in the middle of the next transaction.
   */
  onUnknownEffect(): void {
    if (this.#producer.protocol === 'v1') this.markStale();
  }

  onTransactionEnded({ next }: EndTransactionResponse): void {
    if (next) this.#successor = { ...this.#producer, ...next };
    // The end of the transaction has increased the epoch, but the response does not contain the new
    // one. InitProducerId returns it.
    else if (this.#producer.protocol === 'v2') this.markStale();
  }

  /** Prepares the next transaction, with the increased epoch if there is one. */
  startNextTransaction(): void {
    this.#producer = this.#successor ?? this.#producer;
    this.#successor = undefined;
    this.#registrar.startNextTransaction(this.#producer);
    this.pipeline.skipLinger(false);
  }
}
