import type { DriverLogger } from '../../../port/driver.js';
import { Backoff, type Timer } from '../../../runtime/index.js';
import { RepeatedFailureLog } from '../repeated-failure-log.js';
import { partitionCounts } from './partition-counts.js';
import type { ClusterClient } from '../../../wire/index.js';

export interface TopicWatchOptions {
  readonly cluster: ClusterClient;
  readonly topics: readonly string[];
  /** The partition counts on which the assignment is based. */
  readonly counts: ReadonlyMap<string, number>;
  readonly refreshMs: number;
  readonly logger: DriverLogger;
  readonly onChange: (reason: string) => void;
}

const MISSING_REFRESH = { initialMs: 250, maxMs: 5_000 };

/**
 * Watches the topics of all members. Only the leader needs this, because only its rejoin makes the
 * group assign again. A follower that rejoins without changes gets the same assignment.
 */
export class TopicWatch {
  readonly #options: TopicWatchOptions;
  readonly #backoff: Backoff;
  readonly #failures: RepeatedFailureLog;
  #timer: Timer | undefined;
  #missingOnce = new Set<string>();
  #stopped = false;

  constructor(options: TopicWatchOptions) {
    this.#options = options;
    const { runtime } = options.cluster;
    this.#backoff = new Backoff(runtime, MISSING_REFRESH);
    this.#failures = new RepeatedFailureLog(runtime, options.logger);
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
    const isIncomplete = counts.size < topics.length || this.#missingOnce.size > 0;
    const delayMs = isIncomplete ? Math.min(refreshMs, this.#backoff.next()) : refreshMs;
    this.#timer = cluster.runtime.setTimer(() => void this.#check(), delayMs, { background: true });
  }

  async #check(): Promise<void> {
    const { cluster, topics, refreshMs, onChange } = this.#options;
    try {
      // Missing topics are requested each time. The metadata of the others may have been refreshed
      // by other sessions.
      await cluster.metadata.load(topics, refreshMs / 2);
      const change = this.#stopped ? undefined : this.#findChange();
      if (change !== undefined) return onChange(change);
    } catch (error) {
      this.#failures.debug(
        'The topics of the group could not be looked up and are looked up again later.',
        { error: error as Error },
      );
    }
    this.#schedule();
  }

  #findChange(): string | undefined {
    const { cluster, topics, counts } = this.#options;
    const now = partitionCounts(cluster.metadata, topics);
    const missing = new Set<string>();
    for (const topic of topics) {
      const [before, after] = [counts.get(topic) ?? 0, now.get(topic) ?? 0];
      if (before === after) continue;
      // A broker that has just started does not know all topics yet, so a topic counts as missing
      // only after the second lookup.
      if (after === 0 && !this.#missingOnce.has(topic)) missing.add(topic);
      else return `topic "${topic}" has ${after} partitions; the assignment was made for ${before}`;
    }
    this.#missingOnce = missing;
    return undefined;
  }
}
