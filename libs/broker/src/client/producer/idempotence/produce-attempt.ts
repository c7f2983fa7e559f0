import { ConnectionError } from '../../../port/errors.js';
import {
  produceRequest,
  type ApiRequest,
  type ProducedPartition,
  type ProducePartition,
} from '../../../wire/index.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { PendingBatch } from '../batching/pending-batch.js';
import type { SenderContext } from '../sender-options.js';

type Answer = readonly ProducedPartition[];

/**
 * One produce request with the heads of some queues. Connecting may take long, so what goes into
 * it is decided when it is encoded, which is when it leaves: records whose caller has given up by
 * then stay behind, and those that left may be written.
 */
export class ProduceAttempt {
  readonly #unencodable = new Map<PendingBatch, Error>();
  #isOver = false;

  constructor(
    readonly queues: readonly PartitionQueue[],
    private readonly brokerTimeoutMs: number,
    private readonly context: Pick<SenderContext, 'codec' | 'options' | 'flow'>,
  ) {}

  get request(): ApiRequest<Answer> {
    return {
      ...this.#requestWith([]),
      encode: (version) => this.#leave(version),
    };
  }

  /** It was answered, or given up: should it still be asked for its bytes, it has none. */
  over(): void {
    this.#isOver = true;
  }

  /** Why the batch stayed behind: a codec threw, say. */
  failureOf(batch: PendingBatch): Error | undefined {
    return this.#unencodable.get(batch);
  }

  #leave(version: number): Buffer | Promise<Buffer> {
    const sealed = this.#isOver ? [] : this.queues.flatMap((queue) => this.#seal(queue));
    if (sealed.length === 0)
      throw new ConnectionError('Nobody waits any more for the records of this request.');
    const body = this.#requestWith(sealed).encode(version);
    // Only now: what could not be encoded has not left.
    for (const { pending } of sealed) {
      pending.stage = 'under-way';
      pending.attempts++;
    }
    return body;
  }

  #requestWith(partitions: readonly ProducePartition[]): ApiRequest<Answer> {
    const { options, flow } = this.context;
    const { transactionalId = null } = options;
    return produceRequest(this.brokerTimeoutMs, partitions, transactionalId, flow);
  }

  #seal(queue: PartitionQueue) {
    const batch = queue.prune();
    if (batch === undefined) return [];
    const stamp = queue.sequence?.stamp;
    // What was given up a moment ago may have cost the queue its producer id: it gets in line for another one.
    if (queue.sequence !== undefined && stamp === undefined) return [];
    try {
      const { topic, partition } = queue;
      return [{ topic, partition, batch: batch.seal(this.context.codec, stamp), pending: batch }];
    } catch (error) {
      this.#unencodable.set(batch, error as Error);
      return [];
    }
  }
}
