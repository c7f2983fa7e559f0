import { ClosedError } from '../../../port/errors.js';
import type { Transaction } from '../../../port/producer.js';
import { TransactionLifecycle } from '../../../port/transaction-lifecycle.js';
import { transactionOpenError } from '../../../port/transactional-errors.js';
import { within } from '../../../runtime/index.js';
import {
  findCoordinatorRequest,
  findTransactionCoordinatorRequest,
  transactionProtocolOf,
} from '../../../wire/index.js';
import type { SenderContext } from '../sender-context.js';
import { CoordinatorClient } from './coordinator-client.js';
import { KafkaTransaction } from './kafka-transaction.js';
import { ProducerEpoch } from './producer-epoch.js';
import { ProducerState } from './producer-state.js';

/**
 * Runs the transactions of one producer, one after the other. After a success the next transaction
 * uses the same epoch, or the epoch that the end of the previous one has increased. After a failure
 * it needs a new epoch, which makes all delayed requests of the old one harmless.
 */
export class TransactionManager {
  readonly #coordinator: CoordinatorClient;
  readonly #state: ProducerState;
  readonly #channel: string;
  #group: { readonly groupId: string; readonly coordinator: CoordinatorClient } | undefined;
  #epoch: ProducerEpoch | undefined;
  #isBeginning = false;
  #current: TransactionLifecycle | undefined;
  #closed: ClosedError | undefined;

  constructor(
    private readonly context: SenderContext,
    private readonly transactionalId: string,
    private readonly producerId: string,
  ) {
    // Requests to coordinators have their own channel, so that they do not wait behind produce
    // requests.
    this.#channel = `transaction:${producerId}`;
    this.#coordinator = new CoordinatorClient(context, this.#channel, {
      name: `the transactional id "${transactionalId}"`,
      find: findTransactionCoordinatorRequest(transactionalId),
      requestKind: 'transaction',
    });
    const { transactionTimeoutMs } = context.options;
    this.#state = new ProducerState(transactionalId, transactionTimeoutMs, this.#coordinator, () =>
      transactionProtocolOf(context.cluster.features),
    );
  }

  async begin(): Promise<Transaction> {
    if (this.#isBeginning || this.#current) throw transactionOpenError(this.transactionalId);
    this.#isBeginning = true;
    try {
      const producer = await this.#state.obtain();
      if (this.#closed) throw this.#closed;
      // The producer id and epoch were renewed because the protocol has changed.
      if (this.#epoch && this.#epoch.producer !== producer) this.#retire(this.#epoch);
      const channel = `produce:${this.producerId}`;
      this.#epoch ??= new ProducerEpoch(producer, this.context, channel, this.#coordinator);
      return (this.#current = new TransactionLifecycle(this.#createTransaction(this.#epoch)));
    } finally {
      this.#isBeginning = false;
    }
  }

  /** Aborts the open transaction within the timeout. No request is sent afterwards. */
  async close(timeoutMs: number, reason: ClosedError): Promise<void> {
    this.#closed = reason;
    const { runtime } = this.context.cluster;
    const ended = this.#current?.close() ?? Promise.resolve();
    await within(runtime, timeoutMs, ended, () => reason).catch(() => undefined);
    this.#coordinator.close(reason);
    this.#group?.coordinator.close(reason);
    this.#epoch?.pipeline.close(reason);
    this.context.cluster.closeChannel(this.#channel, reason);
  }

  #createTransaction(epoch: ProducerEpoch): KafkaTransaction {
    return new KafkaTransaction({
      epoch,
      coordinator: this.#coordinator,
      deliveryTimeoutMs: this.context.options.deliveryTimeoutMs,
      groupCoordinator: (groupId) => this.#groupCoordinator(groupId),
      onFenced: (cause, code) => this.#state.markFenced(cause, code),
      onOver: () => this.#onTransactionOver(epoch),
    });
  }

  #onTransactionOver(epoch: ProducerEpoch): void {
    this.#current = undefined;
    const { successor, isStale, mayBeOpen } = epoch;
    if (successor) this.#state.epochRaised(successor);
    else if (isStale) this.#state.markStale(mayBeOpen);
    if (isStale) this.#retire(epoch);
    else epoch.startNextTransaction();
  }

  #retire(epoch: ProducerEpoch): void {
    this.#epoch = undefined;
    epoch.pipeline.close(new ClosedError('The transaction has ended.'));
  }

  /**
   * Returns the client for the group's coordinator. Only the latest group is kept, because a
   * producer usually sends the offsets of a single group.
   */
  #groupCoordinator(groupId: string): CoordinatorClient {
    if (this.#group?.groupId !== groupId) {
      const coordinator = new CoordinatorClient(this.context, this.#channel, {
        name: `group "${groupId}"`,
        find: findCoordinatorRequest(groupId),
        requestKind: 'transactionOffsets',
      });
      this.#group = { groupId, coordinator };
    }
    return this.#group.coordinator;
  }
}
