import type { FetchOptions, Isolation } from '../../../port/consumer.js';
import { TopicRecreatedError, type BrokerError } from '../../../port/errors.js';
import type { Timer } from '../../../runtime/index.js';
import type { Cluster } from '../../../wire/index.js';
import { FetchExchange, laneOf, type Way } from './fetch-exchange.js';
import { FetchReactions, type FetchReactionsHost } from './fetch-reactions.js';
import { forMany } from '../assignment/without-listener-limit.js';
import { LeaderSearch } from './leader-search.js';
import type { BudgetShare } from './prefetch-budget.js';
import type { OwnedPartition } from './owned-partition.js';
import { TruncationCheck, type TruncationHost } from './truncation-check.js';

/** What the pump needs of the cluster. */
export type FetchCluster = Pick<
  Cluster,
  'request' | 'closeLane' | 'metadata' | 'runtime' | 'requestTimeoutMs'
>;

/** What the pump tells its session. */
export interface FetchPumpHost extends FetchReactionsHost, TruncationHost {
  readonly partitions: Iterable<OwnedPartition>;
  /** Some partition has records to hand out. */
  onRecords(): void;
  onStopped(partition: OwnedPartition, error: TopicRecreatedError): void;
  /** It can be read; any trouble is over. */
  onProgress(partition: OwnedPartition): void;
  /** A mistake of our own: the session cannot go on. */
  onBroken(error: Error): void;
}

export interface FetchPumpOptions {
  readonly cluster: FetchCluster;
  readonly sessionId: string;
  readonly isolation: Isolation;
  readonly fetch: Required<FetchOptions>;
  /** Where we are. */
  readonly rackId?: string;
  readonly share: BudgetShare;
  readonly host: FetchPumpHost;
}

const SMALLEST_REQUEST = 64 * 1024;
/** Below that where else some brokers could not be asked: the first batch comes whole however little is asked for. */
const SMALLEST_OF_MANY = 16 * 1024;
/** Waiting at the same time, with nothing to bring: long and side. */
const IDLE_REQUESTS_PER_BROKER = 2;
/** How long a poll may wait while another broker has no room to be asked. */
const CROWDED_WAIT_MS = 500;
/** Requests of one broker that may be under way: long, side and quick, and one answer being read. */
const REQUESTS_PER_BROKER = 4;
/** A long poll that has data comes back sooner; only then is it worth to ask by another way. */
const PATIENCE_MS = 5;
/** How soon a partition without a place in a long poll is asked about again. */
const QUICK_AGAIN_MS = 100;

/**
 * Keeps one long poll per broker open for the partitions that are wanted now. A partition that
 * becomes wanted while its broker's long poll is out (resumed, drained, sought) is asked for at
 * once without waiting and, if there is nothing, in a second long poll at the side.
 */
export class FetchPump {
  readonly #options: FetchPumpOptions;
  readonly #busy = new Map<string, number>();
  readonly #abort = new AbortController();
  readonly #leaders: LeaderSearch;
  readonly #reactions: FetchReactions;
  readonly #truncation: TruncationCheck;
  readonly #exchange: FetchExchange;
  /** Those that there was no room to ask, the first of them first. */
  readonly #refused = new Set<number>();
  #crowdedUntil = 0;
  #turn = 0;
  #timer: { readonly timer: Timer; readonly at: number } | undefined;
  #scheduled = false;

  constructor(options: FetchPumpOptions) {
    this.#options = options;
    const { cluster, host } = options;
    this.#leaders = new LeaderSearch({
      cluster,
      ended: forMany(this.#abort.signal),
      onTrouble: (partition, error) => host.onTrouble(partition, error),
      onLeaderless: (partition) => this.#reactions.leaderless(partition),
      onDone: () => this.wake(),
    });
    this.#reactions = new FetchReactions(
      cluster.runtime,
      host,
      (partitions) => void this.#leaders.find(partitions),
    );
    this.#truncation = new TruncationCheck({
      cluster,
      host,
      reactions: this.#reactions,
      ended: this.#abort.signal,
      onDone: () => this.wake(),
    });
    this.#exchange = new FetchExchange({
      ...options,
      reactions: this.#reactions,
      ended: this.#abort.signal,
      findLeader: (partition) => void this.#leaders.find([partition]),
      onRoom: () => this.wake(),
    });
  }

  /** Looks again at what is wanted, once for all calls of this turn. */
  wake(): void {
    if (this.#scheduled || this.#abort.signal.aborted) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      if (this.#abort.signal.aborted) return;
      try {
        this.#pump();
      } catch (error) {
        this.#options.host.onBroken(error as Error);
      }
    });
  }

  close(reason: Error): void {
    const { cluster, sessionId } = this.#options;
    this.#abort.abort(reason);
    this.#timer?.timer.cancel();
    for (const way of ['long', 'side'] as const)
      cluster.closeLane(laneOf(way, sessionId), reason as BrokerError);
  }

  #pump(): void {
    const { cluster, host } = this.#options;
    const now = cluster.runtime.monotonic();
    const wanted = new Map<number, OwnedPartition[]>();
    const doubtful = new Map<number, OwnedPartition[]>();
    const leaderless: OwnedPartition[] = [];
    let rest = Infinity;
    for (const partition of host.partitions) {
      if (partition.topicId === null) partition.adopt(this.#topicIdOf(partition));
      if (this.#isRecreated(partition)) {
        host.onStopped(partition, recreated(partition));
        continue;
      }
      if (partition.restUntil > now) rest = Math.min(rest, partition.restUntil - now);
      if (!partition.wantsFetch(now)) continue;
      const leader = cluster.metadata.leader(partition.topic, partition.partition);
      if (leader === undefined) {
        leaderless.push(partition);
        continue;
      }
      const isDoubtful = partition.mustBeChecked(
        cluster.metadata.leaderEpoch(partition.topic, partition.partition),
      );
      const those = isDoubtful ? doubtful : wanted;
      const node = isDoubtful ? leader : this.#sourceOf(partition, leader, now);
      if (!those.get(node)?.push(partition)) those.set(node, [partition]);
    }
    if (rest < Infinity) this.#wakeIn(rest);
    if (leaderless.length > 0) void this.#leaders.find(leaderless);
    for (const [node, partitions] of doubtful) void this.#truncation.check(node, partitions);
    for (const node of this.#inTurn(wanted.keys())) this.#ask(node, wanted.get(node) ?? [], now);
  }

  /** Always asked in the same order, the last would never be where there is room for the first only. */
  #inTurn(wanted: Iterable<number>): Iterable<number> {
    if (this.#refused.size === 0) return wanted;
    const nodes = new Set(wanted);
    for (const node of this.#refused) if (!nodes.has(node)) this.#refused.delete(node);
    return new Set([...this.#refused, ...nodes]);
  }

  #ask(node: number, wanted: readonly OwnedPartition[], now: number): void {
    const longSince = this.#busy.get(`${node}/long`);
    if (longSince === undefined) return this.#start(node, 'long', wanted);
    if (now - longSince < PATIENCE_MS) return this.#wakeIn(PATIENCE_MS - (now - longSince));
    const unknown = wanted.filter(({ emptyAt, fetchOffset }) => emptyAt !== fetchOffset);
    if (unknown.length > 0) {
      if (!this.#busy.has(`${node}/quick`)) this.#start(node, 'quick', unknown);
      return;
    }
    if (!this.#busy.has(`${node}/side`)) return this.#start(node, 'side', wanted);
    for (const partition of wanted) {
      partition.emptyAt = -1;
      partition.restUntil = now + QUICK_AGAIN_MS;
    }
    this.#wakeIn(QUICK_AGAIN_MS);
  }

  #start(node: number, way: Way, wanted: readonly OwnedPartition[]): void {
    const { share, cluster, fetch } = this.#options;
    const now = cluster.runtime.monotonic();
    const bytes = this.#requestBytes();
    if (!this.#makeRoom(bytes)) {
      this.#refused.add(node);
      this.#crowdedUntil = now + fetch.maxWaitMs;
      return;
    }
    const questions = rotated(wanted, this.#turn++).map((partition) => ({
      partition,
      journey: partition.ask(),
      offset: partition.fetchOffset,
    }));
    share.take(bytes);
    this.#refused.delete(node);
    this.#busy.set(`${node}/${way}`, now);
    void this.#exchange
      .run(node, way, questions, { bytes, maxWaitMs: this.#maxWaitMs(way, now) })
      .catch((error: unknown) => this.#failed(node, wanted, error as BrokerError))
      .finally(() => {
        for (const { partition, journey } of questions) partition.answered(journey);
        this.#busy.delete(`${node}/${way}`);
        this.wake();
      });
  }

  #failed(node: number, partitions: readonly OwnedPartition[], error: BrokerError): void {
    if (!this.#abort.signal.aborted) this.#reactions.failed(node, partitions, error);
  }

  /** Room for an answer; what was fetched ahead for paused partitions has to give way. */
  #makeRoom(bytes: number): boolean {
    const { share, host } = this.#options;
    if (share.has(bytes)) return true;
    for (const partition of host.partitions)
      if (partition.paused && partition.hasChunks) partition.dropChunks();
    return share.has(bytes);
  }

  #requestBytes(): number {
    const { share, fetch, cluster } = this.#options;
    const brokers = Math.max(1, cluster.metadata.brokers.size);
    const fair = Math.floor(share.limitBytes / (brokers * REQUESTS_PER_BROKER));
    const forAll = Math.floor(share.limitBytes / (brokers * IDLE_REQUESTS_PER_BROKER));
    const smallest = Math.max(SMALLEST_OF_MANY, Math.min(SMALLEST_REQUEST, forAll));
    return Math.max(smallest, Math.min(fetch.maxBytes, fair));
  }

  #maxWaitMs(way: Way, now: number): number {
    const { maxWaitMs } = this.#options.fetch;
    if (way === 'quick') return 0;
    return now < this.#crowdedUntil ? Math.min(maxWaitMs, CROWDED_WAIT_MS) : maxWaitMs;
  }

  /** By name it would be read on in the middle, once it has grown so far. */
  #isRecreated(partition: OwnedPartition): boolean {
    const { topicId, stopped } = partition;
    if (topicId === null || stopped !== undefined) return false;
    const known = this.#topicIdOf(partition);
    return known !== null && known !== topicId;
  }

  #topicIdOf({ topic }: OwnedPartition): string | null {
    return this.#options.cluster.metadata.topic(topic)?.id ?? null;
  }

  /** The leader, or the replica that it has sent us to and that is still there. */
  #sourceOf({ nearby }: OwnedPartition, leader: number, now: number): number {
    const replica = nearby.at(now);
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

/** The first partition of a request is served first, and whole: each gets its turn. */
function rotated<T>(items: readonly T[], turn: number): readonly T[] {
  const from = turn % items.length;
  return from === 0 ? items : [...items.slice(from), ...items.slice(0, from)];
}

function recreated({ topic, partition, position }: OwnedPartition): TopicRecreatedError {
  return new TopicRecreatedError(
    topic,
    partition,
    position,
    `Topic "${topic}" was deleted and created again while its partition ${partition} was being read at offset ${position}. Offsets of the old topic mean nothing in the new one: seek to where reading should go on.`,
  );
}
