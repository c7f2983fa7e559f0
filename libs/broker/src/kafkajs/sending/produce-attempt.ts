import { ConnectionError } from '../../port/errors.js';
import type { RecordCodec } from '../../records/index.js';
import { produceRequest, type ApiRequest, type ProducedPartition } from '../wire/index.js';
import type { PartitionQueue } from './partition-queue.js';

type Answer = readonly ProducedPartition[];

/**
 * One produce request with the heads of some queues. Connecting may take long, so what goes into
 * it is decided when it is encoded, which is when it leaves: records whose caller has given up by
 * then stay behind, and those that left may be written.
 */
export class ProduceAttempt {
  #isOver = false;

  constructor(
    readonly queues: readonly PartitionQueue[],
    private readonly brokerTimeoutMs: number,
    private readonly codec: RecordCodec | undefined,
  ) {}

  get request(): ApiRequest<Answer> {
    const { apiKey, apiName, versions, decode } = produceRequest(this.brokerTimeoutMs, []);
    return { apiKey, apiName, versions, decode, encode: (version) => this.#leave(version) };
  }

  /** It was answered, or given up: should it still be asked for its bytes, it has none. */
  over(): void {
    this.#isOver = true;
  }

  #leave(version: number): Buffer | Promise<Buffer> {
    const partitions = this.#isOver ? [] : this.queues.flatMap((queue) => this.#seal(queue));
    if (partitions.length === 0)
      throw new ConnectionError('Nobody waits any more for the records of this request.');
    return produceRequest(this.brokerTimeoutMs, partitions).encode(version);
  }

  #seal(queue: PartitionQueue) {
    const batch = queue.prune();
    if (batch === undefined) return [];
    const stamp = queue.sequence?.stamp;
    // What was given up a moment ago may have cost the queue its producer id: it gets in line for another one.
    if (queue.sequence !== undefined && stamp === undefined) return [];
    batch.stage = 'under-way';
    batch.attempts++;
    return [
      { topic: queue.topic, partition: queue.partition, batch: batch.seal(this.codec, stamp) },
    ];
  }
}
