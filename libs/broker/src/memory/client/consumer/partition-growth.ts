import type { TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-consumer-options.js';
import { isRefusal } from '../../broker/faults/refusal.js';
import type { Connection } from '../connection.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { GroupClient } from './group-client.js';

/**
 * Detects partitions that were added after the group started. They are read from their first
 * record; otherwise records written before the group noticed them would be skipped.
 */
export class PartitionGrowth {
  /** The partition count of each topic when the session started. */
  readonly #counts = new Map<string, number>();
  /**
   * The highest partition of each topic for which the group had an offset when the session started.
   */
  readonly #highest = new Map<string, number>();

  constructor(
    private readonly connection: Connection,
    private readonly group: GroupClient,
    private readonly options: ResolvedConsumerOptions,
  ) {}

  /**
   * Reads the state of the group before joining. If it cannot be read, `offsetReset` decides about
   * all partitions.
   */
  async takeSnapshot(signal: AbortSignal): Promise<void> {
    if (this.options.offsetReset === 'earliest') return;
    try {
      await this.#countPartitions(signal);
      if (this.options.offsetReset === 'latest') await this.#findCommitted(signal);
    } catch (error) {
      if (!signal.aborted && !isRefusal(error) && !isRetriable(toBrokerError(error))) throw error;
    }
  }

  isNew({ topic, partition }: TopicPartition): boolean {
    if (partition >= (this.#counts.get(topic) ?? Infinity)) return true;
    return partition > (this.#highest.get(topic) ?? Infinity);
  }

  async #countPartitions(signal: AbortSignal): Promise<void> {
    const found = await this.connection.metadata(this.options.topics, { signal });
    for (const topic of this.options.topics)
      this.#counts.set(topic, found.find(({ name }) => name === topic)?.partitions.length ?? 0);
  }

  async #findCommitted(signal: AbortSignal): Promise<void> {
    const all = [...this.#counts].flatMap(([topic, count]) =>
      Array.from({ length: count }, (_, partition) => ({ topic, partition })),
    );
    const answers = await this.group.committed(all, signal);
    all.forEach(({ topic, partition }, index) => {
      const isKnown = answers[index]?.kind === 'committed';
      if (isKnown && partition > (this.#highest.get(topic) ?? -1))
        this.#highest.set(topic, partition);
    });
  }
}
