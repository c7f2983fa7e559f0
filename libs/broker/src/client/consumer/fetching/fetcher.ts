import type { FetchOptions, Isolation } from '../../../port/consumer.js';
import { TopicRecreatedError, type BrokerError } from '../../../port/errors.js';
import type { Timer } from '../../../runtime/index.js';
import type { ClusterClient } from '../../../wire/index.js';
import { FetchExchange, fetchChannel, type FetchMode } from './fetch-exchange.js';
import { FetchErrorHandler, type FetchErrorCallbacks } from './fetch-error-handler.js';
import { withoutListenerLimit } from '../without-listener-limit.js';
import { LeaderSearch } from './leader-search.js';
import type { BudgetShare } from './prefetch-budget.js';
import type { OwnedPartition } from './owned-partition.js';
import { TruncationCheck, type TruncationCallbacks } from './truncation-check.js';
import { wantsFetch } from './wants-fetch.js';

/** Callbacks of the fetcher to its session. */
export interface FetcherCallbacks extends FetchErrorCallbacks, TruncationCallbacks {
  readonly partitions: Iterable<OwnedPartition>;
  /** Called when a partition has records to deliver. */
  onRecords(): void;
  onStopped(partition: OwnedPartition, error: TopicRecreatedError): void;
  /** Called when the partition was read successfully, so its errors are over. */
  onProgress(partition: OwnedPartition): void;
  /** Called after an unexpected error in the fetcher. The session cannot continue. */
  onInternalError(error: Error): void;
}

export interface FetcherOptions {
  readonly cluster: ClusterClient;
  readonly sessionId: string;
  readonly isolation: Isolation;
  readonly fetch: Required<FetchOptions>;
  /** The rack of this process. */
  readonly rackId?: string;
  readonly share: BudgetShare;
  readonly callbacks: FetcherCallbacks;
}

const MIN_REQUEST_BYTES = 64 * 1024;
/**
 * The size of a request if the larger minimum would leave no memory for some brokers. A broker
 * returns the first batch completely even if this limit is smaller.
 */
const MIN_SHARED_REQUEST_BYTES = 16 * 1024;
/**
 * The number of requests per broker that may wait without data at the same time: `long` and `side`.
 */
const IDLE_REQUESTS_PER_BROKER = 2;
/** The longest wait of a long poll while no memory is available for a fetch from another broker. */
const MEMORY_SHORT_WAIT_MS = 500;
/**
 * The number of requests per broker that may be under way: `long`, `side` and `quick`, plus one
 * response that is being read.
 */
const REQUESTS_PER_BROKER = 4;
/**
 * The delay before a second request is sent to a broker. A long poll that finds records ends within
 * this time.
 */
const LONG_POLL_GRACE_MS = 5;
/** The delay before a partition that is in no long poll is fetched again. */
const QUICK_RETRY_MS = 100;

/**
 * Keeps one long poll per broker open for the partitions that want records. A partition that is
 * resumed, has no more records in memory, or gets a new position by a seek while the long poll is
 * under way is fetched at once, by a request that does not wait. If that request finds nothing, the
 * partition joins a second long poll, `side`.
 */
export class Fetcher {
  readonly #options: FetcherOptions;
  readonly #requestedAt = new Map<string, number>();
  readonly #abort = new AbortController();
  readonly #leaders: LeaderSearch;
  readonly #errorHandler: FetchErrorHandler;
  readonly #truncation: TruncationCheck;
  readonly #exchange: FetchExchange;
  /**
   * Brokers from which nothing could be fetched for lack of memory. The broker that has waited
   * longest comes first.
   */
  readonly #postponed = new Set<number>();
  #memoryShortUntil = 0;
  #turn = 0;
  #timer: { readonly timer: Timer; readonly at: number } | undefined;
  #scheduled = false;

  constructor(options: FetcherOptions) {
    this.#options = options;
    const { cluster, callbacks } = options;
    this.#leaders = new LeaderSearch({
      cluster,
      closed: withoutListenerLimit(this.#abort.signal),
      onError: (partition, error) => callbacks.onError(partition, error),
      onLeaderless: (partition) => this.#errorHandler.leaderMissing(partition),
      onDone: () => this.wake(),
    });
    this.#errorHandler = new FetchErrorHandler(
      cluster.runtime,
      callbacks,
      (partitions) => void this.#leaders.find(partitions),
    );
    this.#truncation = new TruncationCheck({
      cluster,
      callbacks,
      errorHandler: this.#errorHandler,
      closed: this.#abort.signal,
      onDone: () => this.wake(),
    });
    this.#exchange = new FetchExchange({
      ...options,
      errorHandler: this.#errorHandler,
      closed: this.#abort.signal,
      findLeader: (partition) => void this.#leaders.find([partition]),
      onMemoryReleased: () => this.wake(),
    });
  }

  /**
   * Checks which partitions want a fetch. Several calls in the same turn of the event loop cause
   * one check.
   */
  wake(): void {
    if (this.#scheduled || this.#abort.signal.aborted) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      if (this.#abort.signal.aborted) return;
      try {
        this.#fetchWanted();
      } catch (error) {
        this.#options.callbacks.onInternalError(error as Error);
      }
    });
  }

  close(reason: Error): void {
    const { cluster, sessionId } = this.#options;
    this.#abort.abort(reason);
    this.#timer?.timer.cancel();
    for (const mode of ['long', 'side'] as const)
      cluster.closeChannel(fetchChannel(mode, sessionId), reason as BrokerError);
  }

  #fetchWanted(): void {
    const { cluster, callbacks } = this.#options;
    const now = cluster.runtime.monotonic();
    const wanted = new Map<number, OwnedPartition[]>();
    const toCheck = new Map<number, OwnedPartition[]>();
    const leaderless: OwnedPartition[] = [];
    let backoffMs = Infinity;
    for (const partition of callbacks.partitions) {
      if (partition.topicId === null) partition.setTopicId(this.#topicIdOf(partition));
      if (this.#isRecreated(partition)) {
        callbacks.onStopped(partition, recreatedError(partition));
        continue;
      }
      if (partition.backoffUntil > now)
        backoffMs = Math.min(backoffMs, partition.backoffUntil - now);
      if (!wantsFetch(partition, now)) continue;
      const leader = cluster.metadata.leader(partition.topic, partition.partition);
      if (leader === undefined) {
        leaderless.push(partition);
        continue;
      }
      const needsCheck = partition.needsTruncationCheck(
        cluster.metadata.leaderEpoch(partition.topic, partition.partition),
      );
      const byNode = needsCheck ? toCheck : wanted;
      const node = needsCheck ? leader : this.#replicaFor(partition, leader, now);
      if (!byNode.get(node)?.push(partition)) byNode.set(node, [partition]);
    }
    if (backoffMs < Infinity) this.#wakeIn(backoffMs);
    if (leaderless.length > 0) void this.#leaders.find(leaderless);
    for (const [node, partitions] of toCheck) void this.#truncation.check(node, partitions);
    for (const node of this.#postponedFirst(wanted.keys()))
      this.#fetchFrom(node, wanted.get(node) ?? [], now);
  }

  /**
   * Orders postponed brokers before the others. In a fixed order, the last broker would never be
   * asked if the memory suffices only for the first ones.
   */
  #postponedFirst(wanted: Iterable<number>): Iterable<number> {
    if (this.#postponed.size === 0) return wanted;
    const nodes = new Set(wanted);
    for (const node of this.#postponed) if (!nodes.has(node)) this.#postponed.delete(node);
    return new Set([...this.#postponed, ...nodes]);
  }

  #fetchFrom(node: number, wanted: readonly OwnedPartition[], now: number): void {
    const longSince = this.#requestedAt.get(`${node}/long`);
    if (longSince === undefined) return this.#sendFetch(node, 'long', wanted);
    if (now - longSince < LONG_POLL_GRACE_MS)
      return this.#wakeIn(LONG_POLL_GRACE_MS - (now - longSince));
    const notKnownEmpty = wanted.filter(
      ({ lastEmptyOffset, fetchOffset }) => lastEmptyOffset !== fetchOffset,
    );
    if (notKnownEmpty.length > 0) {
      if (!this.#requestedAt.has(`${node}/quick`)) this.#sendFetch(node, 'quick', notKnownEmpty);
      return;
    }
    if (!this.#requestedAt.has(`${node}/side`)) return this.#sendFetch(node, 'side', wanted);
    for (const partition of wanted) {
      partition.lastEmptyOffset = -1;
      partition.backoffUntil = now + QUICK_RETRY_MS;
    }
    this.#wakeIn(QUICK_RETRY_MS);
  }

  #sendFetch(node: number, mode: FetchMode, wanted: readonly OwnedPartition[]): void {
    const { share, cluster, fetch } = this.#options;
    const now = cluster.runtime.monotonic();
    const bytes = this.#requestBytes();
    if (!this.#reserveMemory(bytes)) {
      this.#postponed.add(node);
      this.#memoryShortUntil = now + fetch.maxWaitMs;
      return;
    }
    const fetches = rotated(wanted, this.#turn++).map((partition) => ({
      partition,
      positionVersion: partition.markRequested(),
      offset: partition.fetchOffset,
    }));
    share.take(bytes);
    this.#postponed.delete(node);
    this.#requestedAt.set(`${node}/${mode}`, now);
    void this.#exchange
      .run(node, mode, fetches, { bytes, maxWaitMs: this.#maxWaitMs(mode, now) })
      .catch((error: unknown) => this.#failed(node, wanted, error as BrokerError))
      .finally(() => {
        for (const { partition, positionVersion } of fetches)
          partition.markAnswered(positionVersion);
        this.#requestedAt.delete(`${node}/${mode}`);
        this.wake();
      });
  }

  #failed(node: number, partitions: readonly OwnedPartition[], error: BrokerError): void {
    if (!this.#abort.signal.aborted) this.#errorHandler.requestFailed(node, partitions, error);
  }

  /**
   * Reserves memory for a response. If necessary, records that were fetched ahead for paused
   * partitions are dropped.
   */
  #reserveMemory(bytes: number): boolean {
    const { share, callbacks } = this.#options;
    if (share.has(bytes)) return true;
    for (const partition of callbacks.partitions)
      if (partition.paused && partition.hasChunks) partition.dropChunks();
    return share.has(bytes);
  }

  #requestBytes(): number {
    const { share, fetch, cluster } = this.#options;
    const brokers = Math.max(1, cluster.metadata.brokers.size);
    const fairBytes = Math.floor(share.limitBytes / (brokers * REQUESTS_PER_BROKER));
    const bytesForAll = Math.floor(share.limitBytes / (brokers * IDLE_REQUESTS_PER_BROKER));
    const minBytes = Math.max(MIN_SHARED_REQUEST_BYTES, Math.min(MIN_REQUEST_BYTES, bytesForAll));
    return Math.max(minBytes, Math.min(fetch.maxBytes, fairBytes));
  }

  #maxWaitMs(mode: FetchMode, now: number): number {
    const { maxWaitMs } = this.#options.fetch;
    if (mode === 'quick') return 0;
    return now < this.#memoryShortUntil ? Math.min(maxWaitMs, MEMORY_SHORT_WAIT_MS) : maxWaitMs;
  }

  /**
   * Returns whether the topic was deleted and created again. If a recreated topic is fetched by
   * name, it is read from the middle as soon as it contains the old offset.
   */
  #isRecreated(partition: OwnedPartition): boolean {
    const { topicId, stopReason } = partition;
    if (topicId === null || stopReason !== undefined) return false;
    const known = this.#topicIdOf(partition);
    return known !== null && known !== topicId;
  }

  #topicIdOf({ topic }: OwnedPartition): string | null {
    return this.#options.cluster.metadata.topic(topic)?.id ?? null;
  }

  /**
   * Returns the broker to fetch from: the preferred replica if it is still in the metadata,
   * otherwise the leader.
   */
  #replicaFor({ preferredReplica }: OwnedPartition, leader: number, now: number): number {
    const replica = preferredReplica.current(now);
    if (replica === undefined) return leader;
    return this.#options.cluster.metadata.brokers.has(replica) ? replica : leader;
  }

  #wakeIn(delayMs: number): void {
    const { runtime } = this.#options.cluster;
    const at = runtime.monotonic() + delayMs;
    if (this.#timer && this.#timer.at <= at) return;
    this.#timer?.timer.cancel();
    const timer = runtime.setTimer(() => {
      this.#timer = undefined;
      this.wake();
    }, delayMs);
    this.#timer = { timer, at };
  }
}

/**
 * Rotates the partitions of a request. A broker fills the response from the first partition on, so
 * each partition has to come first in some of the requests.
 */
function rotated<T>(items: readonly T[], turn: number): readonly T[] {
  const from = turn % items.length;
  return from === 0 ? items : [...items.slice(from), ...items.slice(0, from)];
}

function recreatedError({ topic, partition, position }: OwnedPartition): TopicRecreatedError {
  return new TopicRecreatedError(
    topic,
    partition,
    position,
    `Topic "${topic}" was deleted and created again while its partition ${partition} was being read at offset ${position}. Offsets of the old topic mean nothing in the new one: seek to where reading should go on.`,
  );
}
