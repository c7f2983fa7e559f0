import type { TransactionalProducer } from '../../../wire/index.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import {
  assignProducerId,
  type TransactionPartitionRegistrar,
} from './transaction-partition-registrar.js';

/**
 * Assigns producer id and sequence numbers in protocol v2. No request is needed, because the leader
 * of the partition adds it to the transaction before it writes the first record.
 */
export class ImplicitPartitionRegistrar implements TransactionPartitionRegistrar {
  #hasBegun = false;

  constructor(private producer: TransactionalProducer) {}

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  notify(): this {
    return this;
  }

  register(queue: PartitionQueue): boolean {
    const refusal = assignProducerId(queue, this.producer);
    if (refusal) {
      queue.failAll(refusal);
      queue.state = 'empty';
      return false;
    }
    this.#hasBegun = true;
    return true;
  }

  startNextTransaction(producer: TransactionalProducer): void {
    this.producer = producer;
    this.#hasBegun = false;
  }

  stop(): void {
    // Does nothing, because no queue ever waits in this registrar.
  }
}
