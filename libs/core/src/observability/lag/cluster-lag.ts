import {
  type AdminSession,
  AuthorizationError,
  BrokerError,
  type BrokerDriver,
  type DriverLogger,
  errorReasonOf,
} from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import {
  containersOf,
  type ContainerRegistration,
} from '../../containers/container-registration.js';
import type { MessageContainer } from '../../containers/message-container.js';
import { OngoingProblems } from '../../problems/ongoing-problems.js';
import type { BindingLag, DeadLetterDepth } from '../../model/states/lag.js';
import { bindingLag, type PartitionFacts } from './binding-lag.js';
import {
  partitionKey,
  pollCluster,
  timestampAt,
  type PolledCluster,
  type PolledTopic,
} from './cluster-poll.js';
import { PartitionHistory } from './partition-history.js';
import { firstUnfinished } from './partition-lag.js';
import { WatermarkHistory } from './watermark-history.js';

export interface ClusterLagParts {
  readonly cluster: string;
  readonly driver: BrokerDriver;
  /** Returns the bindings of this cluster. */
  readonly bindings: () => readonly ContainerRegistration[];
  readonly openLetters: (binding: ContainerRegistration['config']) => OpenLetters;
  /** Interval of the polls. */
  readonly intervalMs: () => number;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** Follows the open dead letters of one binding. */
export interface OpenLetters {
  readonly ledgerTopic: string;
  update(found: {
    readonly admin: AdminSession;
    readonly deadLetters: PolledTopic;
    readonly ledger: PolledTopic | undefined;
    readonly now: number;
  }): Promise<DeadLetterDepth>;
}

/** Records that one poll reads at most, to learn when they were written. */
const MOST_READ_PER_POLL = 8;

/**
 * Lag of all bindings of a cluster. One admin session asks for each topic and each group once per
 * poll, however many bindings use them.
 */
export class ClusterLag {
  readonly #watermarks = new Map<string, WatermarkHistory>();
  /** Histories by group, topic and partition. */
  readonly #histories = new Map<string, PartitionHistory>();
  /** Dead letters by the key of their binding. */
  readonly #letters = new Map<
    string,
    { readonly open: OpenLetters; depth: DeadLetterDepth | undefined; isReadable: boolean }
  >();
  #topics: PolledCluster['topics'] = new Map();
  #refused: PolledCluster['refused'] = new Set();
  #admin: AdminSession | undefined;
  #polling: Promise<void> | undefined;
  #at: number | undefined;
  #error: string | undefined;
  #isClosed = false;
  readonly #problems: OngoingProblems;

  constructor(private readonly parts: ClusterLagParts) {
    this.#problems = new OngoingProblems(parts.runtime, parts.logger);
  }

  /** Polls once. Calls during a poll wait for that poll. Never rejects. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => (this.#polling = undefined));
    return this.#polling;
  }

  lagOf(registration: ContainerRegistration): BindingLag {
    return bindingLag({
      registration,
      at: this.#at,
      error: this.#error,
      partitionsOf: (container) => this.#partitionsOf(container),
      deadLetters: this.#letters.get(registration.key)?.depth,
      now: this.parts.runtime.now(),
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#problems.clear();
    await this.#admin?.close();
    await this.#polling;
  }

  async #poll(): Promise<void> {
    const { driver, runtime, bindings } = this.parts;
    const containers = bindings().flatMap(containersOf);
    if (containers.length === 0 || this.#isClosed) return;
    try {
      const admin = (this.#admin ??= driver.admin());
      const topics = [...new Set(containers.map(({ topic }) => topic))];
      const optionalTopics = [...new Set(this.#letterTopics())];
      const groupIds = [...new Set(containers.map(({ groupId }) => groupId))];
      const polled = await pollCluster(admin, { topics, optionalTopics, groupIds });
      this.#at = runtime.now();
      this.#note(this.#at, polled, bindings());
      await this.#readTimestamps(admin, containers);
      for (const registration of bindings()) await this.#countLetters(admin, registration);
      this.#error = undefined;
    } catch (error) {
      if (this.#isClosed) return;
      this.#error = errorReasonOf(error);
      this.#report(error, this.#error);
    }
  }

  /** A missing right is a decision of the operator, so it is not told at WARN again and again. */
  #report(error: unknown, reason: string): void {
    const { cluster, logger, intervalMs } = this.parts;
    if (error instanceof AuthorizationError) {
      logger.debug('The process has no right to read the lag', { cluster, reason });
      return;
    }
    this.#problems.report({
      key: 'poll',
      message: `The lag of cluster '${cluster}' cannot be read. Its figures are those of the last poll that succeeded, and eventbus.lag.poll.failed is 1. Look at the reason, and at the health of the brokers`,
      ended: `The lag of cluster '${cluster}' can be read again`,
      context: { cluster, reason },
      // A poll that fails from time to time is told once a minute, and not at each failure.
      quietMs: Math.max(QUIET_MS, 2 * intervalMs()),
    });
  }

  #note(at: number, polled: PolledCluster, bindings: readonly ContainerRegistration[]): void {
    this.#topics = polled.topics;
    this.#refused = polled.refused;
    const partitions = new Set<string>();
    for (const [topic, { watermarks }] of polled.topics)
      for (const { partition, high } of watermarks) {
        const key = partitionKey({ topic, partition });
        partitions.add(key);
        entryOf(this.#watermarks, key, () => new WatermarkHistory()).add(at, high);
      }
    keepOnly(this.#watermarks, partitions);
    const histories = new Set<string>();
    for (const registration of bindings)
      for (const container of containersOf(registration)) {
        const { offsetReset } = registration.config;
        const startsAt = container.tier === 0 && offsetReset === 'latest' ? 'high' : 'low';
        this.#noteGroup(at, polled, container, startsAt, histories);
      }
    keepOnly(this.#histories, histories);
  }

  #noteGroup(
    at: number,
    { topics, committed }: PolledCluster,
    { topic, groupId }: MessageContainer,
    startsAt: 'low' | 'high',
    noted: Set<string>,
  ): void {
    const { id: topicId, watermarks } = topics.get(topic) ?? NO_TOPIC;
    for (const { partition, low, high } of watermarks) {
      const place = partitionKey({ topic, partition });
      const key = `${groupId} ${place}`;
      if (noted.has(key)) continue;
      noted.add(key);
      const own = { low, high, committed: committed.get(groupId)?.get(place), startsAt, topicId };
      entryOf(this.#histories, key, () => new PartitionHistory()).add(at, own);
    }
  }

  /**
   * Reads the timestamps of first unfinished records that no session holds and that are older than
   * the history of the watermarks.
   */
  async #readTimestamps(
    admin: AdminSession,
    containers: readonly MessageContainer[],
  ): Promise<void> {
    let left = MOST_READ_PER_POLL;
    for (const container of containers)
      for (const { partition, history, watermarks } of this.#partitionsOf(container)) {
        const { topic, lanes } = container;
        const lane = lanes.find((one) => one.topic === topic && one.partition === partition);
        const offset = firstUnfinished(history.next, lane);
        const isKnown = lane?.head?.offset === offset || history.readTimestamp?.offset === offset;
        const arrival = watermarks.arrivalOf(offset);
        if (isKnown || !arrival || arrival.estimate !== undefined) continue;
        if (left-- <= 0) return;
        const timestamp = await timestampAt(admin, { topic, partition, offset });
        if (timestamp !== undefined) history.readTimestamp = { offset, timestamp };
      }
  }

  #letterTopics(): readonly string[] {
    const bindings = this.parts.bindings();
    keepOnly(this.#letters, new Set(bindings.map(({ key }) => key)));
    return bindings.flatMap(({ key, config }) => {
      const { open } = entryOf(this.#letters, key, () => ({
        open: this.parts.openLetters(config),
        depth: undefined,
        isReadable: true,
      }));
      return [config.dlt.topic, open.ledgerTopic];
    });
  }

  async #countLetters(
    admin: AdminSession,
    { key, config, bindingName: binding }: ContainerRegistration,
  ): Promise<void> {
    const letters = this.#letters.get(key);
    if (!letters) return;
    const { topic } = config.dlt;
    const deadLetters = this.#topics.get(topic);
    if (!deadLetters) {
      letters.depth = undefined;
      return;
    }
    const ledger = this.#topics.get(letters.open.ledgerTopic);
    const now = this.parts.runtime.now();
    try {
      const depth = await letters.open.update({ admin, deadLetters, ledger, now });
      // Without the right to see the ledger, replayed letters count as open.
      const isExact = depth.isExact && !this.#refused.has(letters.open.ledgerTopic);
      letters.depth = { ...depth, isExact };
      letters.isReadable = true;
    } catch (error) {
      // Without the right to read letters, or with a ledger of a newer version, their number is known.
      const isUnreadable = !(error instanceof BrokerError);
      if (!isUnreadable && !(error instanceof AuthorizationError)) throw error;
      if (isUnreadable && letters.isReadable) this.#warn(binding, error);
      letters.isReadable &&= !isUnreadable;
      const written = deadLetters.watermarks.map(({ low, high }) => high - low);
      const records = written.reduce((sum, each) => sum + each, 0);
      letters.depth = { topic, records, oldestSeconds: undefined, isExact: false };
    }
  }

  #warn(binding: string, error: unknown): void {
    const { cluster, logger } = this.parts;
    logger.warn(
      'The open dead letters of a binding cannot be counted. All letters of its topic are shown as open',
      { binding, cluster, reason: errorReasonOf(error) },
    );
  }

  #partitionsOf({ topic, groupId }: MessageContainer): readonly PartitionFacts[] {
    const { watermarks: polled } = this.#topics.get(topic) ?? NO_TOPIC;
    return polled.flatMap(({ partition }) => {
      const key = partitionKey({ topic, partition });
      const history = this.#histories.get(`${groupId} ${key}`);
      const watermarks = this.#watermarks.get(key);
      return history && watermarks ? [{ partition, history, watermarks }] : [];
    });
  }
}

const QUIET_MS = 60_000;

const NO_TOPIC: PolledTopic = { id: null, watermarks: [] };

function entryOf<Value>(map: Map<string, Value>, key: string, create: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}

function keepOnly(map: Map<string, unknown>, keys: ReadonlySet<string>): void {
  for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
}
