import type { DriverLogger } from '../../port/driver.js';
import { Backoff, type Timer } from '../../runtime/index.js';
import type { GroupCluster } from './group-cluster.js';
import { partitionCounts } from './partition-counts.js';

export interface TopicWatchOptions {
  readonly cluster: GroupCluster;
  readonly topics: readonly string[];
  /** What the assignment rests on. */
  readonly counts: ReadonlyMap<string, number>;
  readonly refreshMs: number;
  readonly logger: DriverLogger;
  readonly onChange: (reason: string) => void;
}

const MISSING_REFRESH = { initialMs: 250, maxMs: 5_000 };

/**
 * Only the leader needs it: it plans for the topics of all members, and only its rejoining makes
 * the group plan anew (a follower that joins again unchanged gets what it had).
 */
export class TopicWatch {
  readonly #options: TopicWatchOptions;
  readonly #soon: Backoff;
  #timer: Timer | undefined;
  #vanished = new Set<string>();
  #stopped = false;

  constructor(options: TopicWatchOptions) {
    this.#options = options;
    this.#soon = new Backoff(options.cluster.runtime, MISSING_REFRESH);
  }

  start(): void {
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#stopped) return;
    const { cluster, topics, counts, refreshMs } = this.#options;
    const unsettled = counts.size < topics.length || this.#vanished.size > 0;
    const delayMs = unsettled ? Math.min(refreshMs, this.#soon.next()) : refreshMs;
    this.#timer = cluster.runtime.setTimer(() => void this.#look(), delayMs, { background: true });
  }

  async #look(): Promise<void> {
    const { cluster, topics, refreshMs, logger, onChange } = this.#options;
    try {
      // A topic that is missing is asked about each time; of the others, other sessions may have learnt.
      await cluster.metadata.load(topics, refreshMs / 2);
      const change = this.#stopped ? undefined : this.#change();
      if (change !== undefined) return onChange(change);
    } catch (error) {
      logger.debug('The topics of the group could not be looked up; again later.', { error });
    }
    this.#schedule();
  }

  #change(): string | undefined {
    const { cluster, topics, counts } = this.#options;
    const now = partitionCounts(cluster.metadata, topics);
    const vanished = new Set<string>();
    for (const topic of topics) {
      const [before, after] = [counts.get(topic) ?? 0, now.get(topic) ?? 0];
      if (before === after) continue;
      // A broker that has just started answers "unknown" for topics that it has yet to hear of.
      if (after === 0 && !this.#vanished.has(topic)) vanished.add(topic);
      else return `topic "${topic}" has ${after} partitions, ${before} were planned`;
    }
    this.#vanished = vanished;
    return undefined;
  }
}
