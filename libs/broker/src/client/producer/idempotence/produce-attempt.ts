import { ConnectionError } from '../../../port/errors.js';
import {
  produceRequest,
  type ApiRequest,
  type ProducedPartition,
  type ProducePartition,
} from '../../../wire/index.js';
import type { PartitionQueue } from '../batching/partition-queue.js';
import type { PendingBatch } from '../batching/pending-batch.js';
import type { SenderContext } from '../sender-context.js';

type Response = readonly ProducedPartition[];

/**
 * A produce request with the head batches of some queues. Opening a connection may take long, so
 * the content is decided when the request is encoded, right before it is sent. Records that were
 * aborted until then are left out. Records that are sent may be written.
 */
export class ProduceAttempt {
  /** Batches that could not be encoded, such as after an exception of a codec. */
  readonly unencodable = new Map<PendingBatch, Error>();
  /** True once the attempt was answered or has failed. A later `encode` finds no records. */
  isFinished = false;

  constructor(
    readonly queues: readonly PartitionQueue[],
    private readonly brokerTimeoutMs: number,
    private readonly context: Pick<SenderContext, 'codec' | 'options' | 'transactionProtocol'>,
  ) {}

  get request(): ApiRequest<Response> {
    return {
      ...this.#requestWith([]),
      encode: (version) => this.#encode(version),
    };
  }

  #encode(version: number): Buffer | Promise<Buffer> {
    const sealed = this.isFinished ? [] : this.queues.flatMap((queue) => this.#seal(queue));
    if (sealed.length === 0)
      throw new ConnectionError('All records of the request were abandoned before it was sent.');
    const body = this.#requestWith(sealed).encode(version);
    // Counts the attempt only after the encoding, because a batch that cannot be encoded was not
    // sent.
    for (const { pending } of sealed) {
      pending.stage = 'in-flight';
      pending.attempts++;
    }
    return body;
  }

  #requestWith(partitions: readonly ProducePartition[]): ApiRequest<Response> {
    const { options, transactionProtocol } = this.context;
    const { transactionalId = null } = options;
    return produceRequest(this.brokerTimeoutMs, partitions, transactionalId, transactionProtocol);
  }

  #seal(queue: PartitionQueue) {
    const batch = queue.prune();
    if (batch === undefined) return [];
    const stamp = queue.sequence?.stamp;
    // Dropping a batch may have discarded the producer id of the queue. The queue then waits for
    // another one.
    if (queue.sequence !== undefined && stamp === undefined) return [];
    try {
      const { topic, partition } = queue;
      return [{ topic, partition, batch: batch.seal(this.context.codec, stamp), pending: batch }];
    } catch (error) {
      this.unencodable.set(batch, error as Error);
      return [];
    }
  }
}
