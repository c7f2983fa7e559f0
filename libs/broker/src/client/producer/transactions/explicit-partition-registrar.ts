import { BrokerError, ProducerFencedError } from '../../../port/errors.js';
import {
  addPartitionsRequest,
  errorOfCode,
  reactionTo,
  type PartitionCode,
  type TransactionalProducer,
} from '../../../wire/index.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { OnRegistered } from '../sender-context.js';
import type { CoordinatorClient } from './coordinator-client.js';
import {
  assignProducerId,
  type TransactionPartitionRegistrar,
} from './transaction-partition-registrar.js';

/**
 * Adds partitions to the open transaction in protocol v1, with AddPartitionsToTxn. The coordinator
 * must know each partition before a record is written to it, because it later writes the end marker
 * there. Partitions that are registered in the same turn of the event loop share a request.
 */
export class ExplicitPartitionRegistrar implements TransactionPartitionRegistrar {
  readonly #waiting = new Set<PartitionQueue>();
  readonly #registered = new Set<PartitionQueue>();
  #isRegistering = false;
  #isStopped = false;
  #hasBegun = false;
  #onRegistered: OnRegistered = () => undefined;

  constructor(
    private producer: TransactionalProducer,
    private readonly coordinator: CoordinatorClient,
    /** Called when a request was sent and its effect is unknown. */
    private readonly onUnknownEffect: () => void,
  ) {}

  notify(onRegistered: OnRegistered): this {
    this.#onRegistered = onRegistered;
    return this;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  register(queue: PartitionQueue): boolean {
    const refusal = assignProducerId(queue, this.producer);
    if (refusal) {
      this.#fail(queue, refusal);
      return false;
    }
    if (this.#registered.has(queue)) return true;
    queue.state = 'unregistered';
    this.#waiting.add(queue);
    if (!this.#isRegistering) void this.#registerWaiting();
    return false;
  }

  startNextTransaction(producer: TransactionalProducer): void {
    this.producer = producer;
    this.#registered.clear();
    this.#hasBegun = false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting.clear();
  }

  async #registerWaiting(): Promise<void> {
    this.#isRegistering = true;
    await Promise.resolve();
    for (let queues = this.#pruneWaiting(); queues.length > 0; queues = this.#pruneWaiting()) {
      const registered = await this.#addPartitions(queues);
      if (this.#isStopped) return;
      this.#onRegistered(registered);
    }
    this.#isRegistering = false;
  }

  async #addPartitions(queues: readonly PartitionQueue[]): Promise<readonly PartitionQueue[]> {
    this.#hasBegun = true;
    try {
      const codes = await this.coordinator.request({
        doing: 'Adding partitions to a transaction',
        request: addPartitionsRequest(this.producer, queues),
        codesOf: (answer) => answer.map(({ code }) => code),
        isStillNeeded: () =>
          !this.#isStopped && queues.some((queue) => queue.prune() !== undefined),
        onRetriableError: (error) => {
          for (const { head } of queues) if (head) head.lastError = error;
        },
        onUnknownEffect: this.onUnknownEffect,
      });
      return queues.filter((queue) => this.#applyCode(queue, codes));
    } catch (error) {
      const isFinal = !(error instanceof BrokerError && error.retriable);
      if (isFinal) for (const queue of queues) this.#fail(queue, error as Error);
      return [];
    }
  }

  #applyCode(queue: PartitionQueue, codes: readonly PartitionCode[]): boolean {
    const { topic, partition } = queue;
    const found = codes.find((each) => each.topic === topic && each.partition === partition);
    // OPERATION_NOT_ATTEMPTED means that another partition was refused. The next request adds this
    // partition again.
    if (found === undefined || reactionTo('transaction', found.code) === 'retry') return false;
    if (found.code === 0) {
      this.#waiting.delete(queue);
      this.#registered.add(queue);
      return true;
    }
    this.#fail(queue, this.#errorOf(found));
    return false;
  }

  #errorOf({ topic, partition, code }: PartitionCode): Error {
    const doing = `Adding partition ${partition} of "${topic}" to the transaction of "${this.producer.transactionalId}"`;
    const cause = errorOfCode(code, doing);
    return reactionTo('transaction', code) === 'producer-fenced'
      ? new ProducerFencedError(this.producer.transactionalId, undefined, {
          cause,
          brokerCode: code,
        })
      : cause;
  }

  #fail(queue: PartitionQueue, error: Error): void {
    queue.failAll(error);
    queue.state = 'empty';
    this.#waiting.delete(queue);
  }

  /** Removes the partitions whose records were all dropped, and returns the others. */
  #pruneWaiting(): readonly PartitionQueue[] {
    for (const queue of this.#waiting) {
      if (queue.prune() !== undefined) continue;
      queue.state = 'empty';
      this.#waiting.delete(queue);
    }
    return [...this.#waiting];
  }
}
