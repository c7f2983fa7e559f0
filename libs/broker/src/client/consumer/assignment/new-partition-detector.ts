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

/** A group that does not answer so long keeps nobody from joining it. */
const LOOKUP_TIMEOUT_MS = 5_000;
const UNKNOWN_TOPIC = 3;
/** A broker that has just started does not know all topics yet. */
const MISSING_TOPIC_RETRY_MS = 1_000;

/**
 * Tells partitions that were added when the group had begun already. They are read from their first
 * record: by 'latest', what was written to them before somebody noticed them would be lost.
 */
export class NewPartitionDetector {
  /** How many partitions each topic had when we began. */
  readonly #initialCounts = new Map<string, number>();
  /** The highest partition of each topic of which the group had an offset before we came. */
  readonly #highestCommitted = new Map<string, number>();

  constructor(private readonly options: NewPartitionDetectorOptions) {}

  /** Before joining: what the group has then is from before us. Ends without throwing, soon. */
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
      logger.debug('What the group had before could not be looked up.', { error });
    } finally {
      timer.cancel();
    }
  }

  /** Where the first look told nothing of a topic, the first assignment does. */
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

  /** What is still missing then has no partitions now: all that it gets are new. */
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
