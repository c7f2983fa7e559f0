import type { DriverLogger } from '../../../port/driver.js';
import type { OffsetReset } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import { abortable, sleep } from '../../../runtime/index.js';
import type { Cluster, FetchedOffset } from '../../../wire/index.js';

export interface NewPartitionDetectorOptions {
  readonly cluster: Pick<Cluster, 'metadata' | 'runtime'>;
  readonly topics: readonly string[];
  readonly policy: OffsetReset;
  readonly logger: DriverLogger;
  committed(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
  ): Promise<readonly FetchedOffset[]>;
}

/**
 * The limit of the lookups before the join. A coordinator that does not respond must not keep the
 * member from joining.
 */
const LOOKUP_TIMEOUT_MS = 5_000;
const UNKNOWN_TOPIC = 3;
/**
 * The delay before missing topics are looked up again. A broker that has just started does not know
 * all topics yet.
 */
const MISSING_TOPIC_RETRY_MS = 1_000;

/**
 * Recognises partitions that were added after the group started. Such partitions are read from
 * their first record. With `latest`, records that were written before the group noticed the
 * partition would otherwise be lost.
 */
export class NewPartitionDetector {
  /** Number of partitions that each topic had when this session started. */
  readonly #initialCounts = new Map<string, number>();
  /**
   * Highest partition of each topic for which the group had a committed offset before this session
   * joined.
   */
  readonly #highestCommitted = new Map<string, number>();

  constructor(private readonly options: NewPartitionDetectorOptions) {}

  /**
   * Records the partitions that exist before this member joins. Never throws, and ends within the
   * lookup timeout.
   */
  async recordExisting(): Promise<void> {
    const { policy, cluster, logger } = this.options;
    if (policy === 'earliest') return;
    const timeout = new AbortController();
    const timer = cluster.runtime.setTimer(
      () => timeout.abort(new Error(`There was no answer within ${LOOKUP_TIMEOUT_MS} ms.`)),
      LOOKUP_TIMEOUT_MS,
      { background: true },
    );
    try {
      await abortable(this.#readTopicSizes(), timeout.signal);
      if (policy === 'latest') await this.#readCommittedPartitions(timeout.signal);
    } catch (error) {
      logger.debug('The existing partitions and offsets of the group could not be looked up.', {
        error,
      });
    } finally {
      timer.cancel();
    }
  }

  /**
   * Records the sizes of topics that the lookup before the join did not find. Also called with the
   * first assignment.
   */
  recordTopicSizes(): void {
    for (const topic of this.options.topics) {
      const known = this.options.cluster.metadata.topic(topic);
      if (known?.code === 0 && !this.#initialCounts.has(topic))
        this.#initialCounts.set(topic, known.partitions.length);
    }
  }

  isNew({ topic, partition }: TopicPartition): boolean {
    if (partition >= (this.#initialCounts.get(topic) ?? Infinity)) return true;
    return partition > (this.#highestCommitted.get(topic) ?? Infinity);
  }

  async #readTopicSizes(): Promise<void> {
    const { cluster, topics } = this.options;
    await cluster.metadata.refresh(topics);
    this.recordTopicSizes();
    if (this.#missingTopics().length > 0)
      void this.#readMissingTopicsLater().catch(() => undefined);
  }

  /**
   * Looks up missing topics a second time. A topic that is still missing has no partitions yet, so
   * every partition that it gets later is new.
   */
  async #readMissingTopicsLater(): Promise<void> {
    const { metadata, runtime } = this.options.cluster;
    await sleep(runtime, MISSING_TOPIC_RETRY_MS, undefined, { background: true });
    await metadata.refresh(this.options.topics);
    this.recordTopicSizes();
    for (const topic of this.#missingTopics()) this.#initialCounts.set(topic, 0);
  }

  #missingTopics(): readonly string[] {
    const { topics, cluster } = this.options;
    return topics.filter(
      (topic) =>
        !this.#initialCounts.has(topic) && cluster.metadata.topic(topic)?.code === UNKNOWN_TOPIC,
    );
  }

  async #readCommittedPartitions(signal: AbortSignal): Promise<void> {
    const all = [...this.#initialCounts].flatMap(([topic, count]) =>
      Array.from({ length: count }, (_, partition) => ({ topic, partition })),
    );
    if (all.length === 0) return;
    for (const { topic, partition, committed } of await this.options.committed(all, signal))
      if (committed && partition > (this.#highestCommitted.get(topic) ?? -1))
        this.#highestCommitted.set(topic, partition);
  }
}
