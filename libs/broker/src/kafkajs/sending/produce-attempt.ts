import { ConnectionError } from '../../port/errors.js';
import { produceRequest, type ApiRequest, type ProducedPartition } from '../wire/index.js';
import type { PartitionQueue } from './partition-queue.js';
import type { SenderContext } from './sender-options.js';

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
    private readonly context: Pick<SenderContext, 'codec' | 'options'>,
  ) {}

  get request(): ApiRequest<Answer> {
    return {
      ...produceRequest(this.brokerTimeoutMs, []),
      encode: (version) => this.#leave(version),
    };
  }

  /** It was answered, or given up: should it still be asked for its bytes, it has none. */
  over(): void {
    this.#isOver = true;
  }

  #leave(version: number): Buffer | Promise<Buffer> {
    const partitions = this.#isOver ? [] : this.queues.flatMap((queue) => this.#seal(queue));
    if (partitions.length === 0)
      throw new ConnectionError('Nobody waits any more for the records of this request.');
    const { transactionalId = null } = this.context.options;
    return produceRequest(this.brokerTimeoutMs, partitions, transactionalId).encode(version);
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
      {
        topic: queue.topic,
        partition: queue.partition,
        batch: batch.seal(this.context.codec, stamp),
      },
    ];
  }
}
