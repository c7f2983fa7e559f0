import { BrokerError, ProducerFencedError } from '../../../port/errors.js';
import {
  addPartitionsRequest,
  errorOfCode,
  reactionTo,
  type PartitionCode,
  type TransactionalProducer,
} from '../../../wire/index.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { OnServed } from '../sender-options.js';
import type { CoordinatorLink } from './coordinator-link.js';
import { giveNumbers, type TransactionDesk } from './partition-registrar.js';

/**
 * Where partitions become part of the transaction that is open, in the announced flow: its coordinator must know of each
 * before a record is written there, so that it can write the end there too. Those who come in the
 * same turn share a request.
 */
export class EnrolmentDesk implements TransactionDesk {
  readonly #waiting = new Set<PartitionQueue>();
  readonly #enrolled = new Set<PartitionQueue>();
  #isAsking = false;
  #isStopped = false;
  #isBegun = false;
  #onServed: OnServed = () => undefined;

  constructor(
    private producer: TransactionalProducer,
    private readonly link: CoordinatorLink,
    /** A request left whose effect nobody knows. */
    private readonly onUnknown: () => void,
  ) {}

  serving(onServed: OnServed): this {
    this.#onServed = onServed;
    return this;
  }

  get isBegun(): boolean {
    return this.#isBegun;
  }

  admit(queue: PartitionQueue): boolean {
    const refusal = giveNumbers(queue, this.producer);
    if (refusal) {
      this.#fail(queue, refusal);
      return false;
    }
    if (this.#enrolled.has(queue)) return true;
    queue.state = 'unidentified';
    this.#waiting.add(queue);
    if (!this.#isAsking) void this.#ask();
    return false;
  }

  startAnew(producer: TransactionalProducer): void {
    this.producer = producer;
    this.#enrolled.clear();
    this.#isBegun = false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting.clear();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    await Promise.resolve();
    for (let queues = this.#stillWanted(); queues.length > 0; queues = this.#stillWanted()) {
      const served = await this.#enrol(queues);
      if (this.#isStopped) return;
      this.#onServed(served);
    }
    this.#isAsking = false;
  }

  async #enrol(queues: readonly PartitionQueue[]): Promise<readonly PartitionQueue[]> {
    this.#isBegun = true;
    try {
      const codes = await this.link.ask({
        doing: 'Adding partitions to a transaction',
        request: addPartitionsRequest(this.producer, queues),
        codesOf: (answer) => answer.map(({ code }) => code),
        isWanted: () => !this.#isStopped && queues.some((queue) => queue.prune() !== undefined),
        onTrouble: (error) => {
          for (const { head } of queues) if (head) head.trouble = error;
        },
        onUnknown: this.onUnknown,
      });
      return queues.filter((queue) => this.#isAdmitted(queue, codes));
    } catch (error) {
      const isFinal = !(error instanceof BrokerError && error.retriable);
      if (isFinal) for (const queue of queues) this.#fail(queue, error as Error);
      return [];
    }
  }

  #isAdmitted(queue: PartitionQueue, codes: readonly PartitionCode[]): boolean {
    const { topic, partition } = queue;
    const found = codes.find((each) => each.topic === topic && each.partition === partition);
    // Not tried because another one was refused: it comes with the next request.
    if (found === undefined || reactionTo('transaction', found.code) === 'retry') return false;
    if (found.code === 0) {
      this.#waiting.delete(queue);
      this.#enrolled.add(queue);
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

  /** Those whose records have all been given up meanwhile are gone. */
  #stillWanted(): readonly PartitionQueue[] {
    for (const queue of this.#waiting) {
      if (queue.prune() !== undefined) continue;
      queue.state = 'empty';
      this.#waiting.delete(queue);
    }
    return [...this.#waiting];
  }
}
