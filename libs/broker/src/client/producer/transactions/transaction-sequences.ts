import type { TransactionalProducer } from '../../../wire/index.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import { giveNumbers, type TransactionDesk } from './partition-registrar.js';

/**
 * In the implied flow a partition needs its numbers only: its leader tells the coordinator of it
 * before it takes the first record.
 */
export class NumberingDesk implements TransactionDesk {
  #isBegun = false;

  constructor(private producer: TransactionalProducer) {}

  get isBegun(): boolean {
    return this.#isBegun;
  }

  serving(): this {
    return this;
  }

  admit(queue: PartitionQueue): boolean {
    const refusal = giveNumbers(queue, this.producer);
    if (refusal) {
      queue.failAll(refusal);
      queue.state = 'empty';
      return false;
    }
    this.#isBegun = true;
    return true;
  }

  startAnew(producer: TransactionalProducer): void {
    this.producer = producer;
    this.#isBegun = false;
  }

  stop(): void {
    // Nobody waits here.
  }
}
