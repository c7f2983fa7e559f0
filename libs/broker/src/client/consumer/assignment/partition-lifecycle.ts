import type { AssignmentListener, OffsetCommit, PositionReset } from '../../../port/consumer.js';
import type { DriverLogger } from '../../../port/driver.js';
import type { PartitionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { isSamePartition } from '../../../port/topic-partition.js';
import { sleep, within } from '../../../runtime/index.js';
import type { Cluster, FetchedOffset } from '../../../wire/index.js';
import {
  toAssignedPartition,
  startOffsetToCommit,
  type PendingAssignment,
} from './pending-assignment.js';
import { withoutListenerLimit } from '../without-listener-limit.js';
import type { OwnedPartition } from '../fetching/owned-partition.js';
import { whenAllRemoved, type OwnedPartitions } from './owned-partitions.js';
import type { Divergence, ResetPositions, StartPosition } from './reset-positions.js';
import type { StartPositions } from './start-positions.js';
import type { ConsumerStatus } from '../consumer-status.js';
import { retryUntilAnswered } from './retry-until-answered.js';

export interface PartitionLifecycleOptions {
  readonly cluster: Cluster;
  readonly ownedPartitions: OwnedPartitions;
  readonly positions: StartPositions;
  readonly resets: ResetPositions;
  readonly status: ConsumerStatus;
  readonly logger: DriverLogger;
  readonly groupId: string;
  fetchCommitted(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
    onError: (error: Error) => void,
  ): Promise<readonly FetchedOffset[]>;
  readonly rebalanceTimeoutMs: number;
  /** Commits the start offsets of partitions. Never rejects. */
  commitStarts(starts: readonly OffsetCommit[]): Promise<void>;
  listener(): AssignmentListener | undefined;
  /** Called when some partitions can be fetched or polled. */
  onReady(): void;
}

/**
 * The longest time for which a partition whose leader does not respond delays `onAssigned` for the
 * others.
 */
const START_LOOKUP_WAIT_MS = 5_000;

/**
 * The longest time for which the pending commit of a start offset delays a revocation or the close
 * of the session.
 */
const MAX_START_COMMIT_WAIT_MS = 5_000;
/**
 * The share of the rebalance timeout that limits the same wait. The shorter of the two limits
 * applies.
 */
const START_COMMIT_SHARE = 0.5;

/**
 * Takes a partition through its assignment:
 * committed offset -> start position -> `onAssigned` -> deliverable -> `onRevoked` or `onLost`.
 *
 * Partitions are independent: some may be revoked while others, or the same ones, are still being
 * assigned. Callbacks of the listener run one after the other. Only `onLost` does not wait for the
 * callback before it.
 */
export class PartitionLifecycle {
  readonly #options: PartitionLifecycleOptions;
  readonly #announced = new WeakSet<OwnedPartition>();
  /** Partitions whose start offset is being committed. */
  readonly #startCommits = new Map<OwnedPartition, Promise<void>>();
  #lastListenerCall: Promise<unknown> = Promise.resolve();

  constructor(options: PartitionLifecycleOptions) {
    this.#options = options;
  }

  async onAssigned(partitions: readonly TopicPartition[]): Promise<void> {
    const { ownedPartitions, cluster } = this.#options;
    const owned = partitions.map((partition) =>
      ownedPartitions.add(partition, cluster.metadata.topic(partition.topic)?.id ?? null),
    );
    const signal = withoutListenerLimit(whenAllRemoved(owned));
    let offsets: readonly FetchedOffset[];
    try {
      offsets = await this.#fetchCommitted(owned, signal);
    } catch (error) {
      void this.#startLater(owned, signal);
      throw error;
    }
    await this.#start(owned, offsets, signal);
  }

  async onRevoked(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = this.#beginRemoval(partitions);
    await this.#queueListenerCall(async () => {
      const announced = this.#announcedOf(owned);
      const stored = this.#waitForStartCommits(owned);
      try {
        if (announced.length > 0) await this.#options.listener()?.onRevoked(announced);
      } finally {
        await stored;
        for (const partition of owned) this.#remove(partition);
      }
    });
  }

  async onLost(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = this.#beginRemoval(partitions);
    const announced = this.#announcedOf(owned);
    for (const partition of owned) this.#remove(partition);
    // The next callback does not wait for one that still runs, because its partitions are lost.
    this.#lastListenerCall = Promise.resolve();
    if (announced.length === 0) return;
    const call = this.#queueListenerCall(() => this.#options.listener()?.onLost(announced));
    this.#lastListenerCall = this.#withTimeLimit(call);
    await call;
  }

  /** Applies the reset policy in the background when the fetch offset is not in the log. */
  onOutOfRange(partition: OwnedPartition): void {
    this.#restart(partition, (signal) => this.#options.resets.resolveOutOfRange(partition, signal));
  }

  /**
   * Determines a new position, because records that were read are no longer in the log. Reading
   * must not continue as if they were still there.
   */
  onTruncated(partition: OwnedPartition, divergence: Divergence | undefined): void {
    this.#restart(partition, (signal) =>
      this.#options.resets.resolveTruncated(partition, divergence, signal),
    );
  }

  #restart(partition: OwnedPartition, ask: (signal: AbortSignal) => Promise<StartPosition>): void {
    const { positionVersion, removalSignal } = partition;
    void this.#retryUntilAnswered(partition, removalSignal, ask).then((start) => {
      if (!start) return;
      // After a seek the result belongs to the old position. The partition is fetched from the new
      // one.
      if (partition.positionVersion === positionVersion)
        this.#applyStart({ partition, committed: null }, start);
      else partition.backoffUntil = 0;
      this.#options.onReady();
    });
  }

  stop(partition: OwnedPartition, error: PartitionError): void {
    partition.stop(error);
    this.#options.status.clearErrors(partition);
    this.#options.logger.error(error.message, { code: error.code, groupId: this.#options.groupId });
    this.#notifyListener(() => this.#options.listener()?.onStopped?.(error));
  }

  /**
   * Starts partitions later if the broker refuses to return their committed offsets now. The
   * membership continues, and reading starts once the offsets are known.
   */
  async #startLater(owned: readonly OwnedPartition[], signal: AbortSignal): Promise<void> {
    const { status, cluster } = this.#options;
    const retryContext = { runtime: cluster.runtime, status, source: owned, signal };
    const offsets = await retryUntilAnswered(retryContext, () =>
      this.#fetchCommitted(owned, signal),
    );
    if (offsets)
      await this.#start(owned, offsets, signal).catch((error: Error) =>
        status.reportBriefly(error),
      );
    if (signal.aborted) status.clearErrors(owned);
  }

  async #start(
    owned: readonly OwnedPartition[],
    offsets: readonly FetchedOffset[],
    signal: AbortSignal,
  ): Promise<void> {
    const pending = owned.map((partition): PendingAssignment => {
      const committed =
        offsets.find((fetched) => isSamePartition(fetched, partition))?.committed ?? null;
      return { partition, committed };
    });
    const unresolved = await this.#findStarts(pending, signal);
    // The start positions are not needed any more, because all partitions were removed during the
    // lookup.
    if (signal.aborted) return;
    await this.#announce(pending.filter((assignment) => !unresolved.has(assignment)));
  }

  async #fetchCommitted(
    owned: readonly OwnedPartition[],
    signal: AbortSignal,
  ): Promise<readonly FetchedOffset[]> {
    if (owned.length === 0) return [];
    const { status, fetchCommitted: committed } = this.#options;
    const search = {};
    try {
      return await committed(owned, signal, (error) => status.reportJoinError(search, error));
    } catch (error) {
      // The error no longer matters, because all partitions were removed during the lookup.
      if (signal.aborted) return [];
      throw error;
    } finally {
      status.clearErrors(search);
    }
  }

  /**
   * Determines the start position of each partition. Returns the partitions whose lookup takes too
   * long. They are passed to `onAssigned` later, one by one.
   */
  async #findStarts(
    pending: readonly PendingAssignment[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<PendingAssignment>> {
    const { status } = this.#options;
    const unresolved = new Set(pending);
    let isWaiting = true;
    const started = pending.map(async (assignment) => {
      const { partition, committed } = assignment;
      const { positionVersion, removalSignal } = partition;
      const start = await this.#retryUntilAnswered(partition, removalSignal, (until) =>
        this.#options.positions.resolve(partition, committed, until),
      );
      if (!start || removalSignal.aborted) return;
      // A seek during the lookup takes precedence over its result.
      if (partition.positionVersion === positionVersion) this.#applyStart(assignment, start);
      unresolved.delete(assignment);
      // The rebalance no longer waits for this partition, so an error of the listener cannot fail a
      // step of the protocol and is reported in the status.
      if (!isWaiting)
        await this.#announce([assignment]).catch((error: Error) => status.reportBriefly(error));
    });
    // Cancels the timer after the lookups, because a pending timer would keep the process alive.
    const finished = new AbortController();
    const until = AbortSignal.any([signal, finished.signal]);
    const timer = sleep(this.#options.cluster.runtime, START_LOOKUP_WAIT_MS, until).catch(
      () => undefined,
    );
    await Promise.race([Promise.all(started), timer]);
    finished.abort();
    isWaiting = false;
    return new Set(unresolved);
  }

  #retryUntilAnswered(
    partition: OwnedPartition,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<StartPosition>,
  ): Promise<StartPosition | undefined> {
    const { status, cluster } = this.#options;
    return retryUntilAnswered({ runtime: cluster.runtime, status, source: partition, signal }, ask);
  }

  #applyStart(assignment: PendingAssignment, start: StartPosition): void {
    const { partition } = assignment;
    if (start.kind === 'stopped') {
      partition.stop(start.error);
      if (this.#announced.has(partition)) this.stop(partition, start.error);
      return;
    }
    partition.moveTo(start.offset, start.leaderEpoch);
    if (!start.reset) return;
    if (this.#announced.has(partition)) this.#reportReset(start.reset);
    else assignment.reset = start.reset;
  }

  /**
   * Calls `onAssigned` before the first record of a partition is delivered. Resets and stops are
   * reported afterwards.
   */
  #announce(pending: readonly PendingAssignment[]): Promise<void> {
    const { listener, onReady } = this.#options;
    return this.#queueListenerCall(async () => {
      const present = pending.filter(({ partition }) => !partition.removalSignal.aborted);
      if (pending.length > 0 && present.length === 0) return;
      for (const { partition } of present) this.#announced.add(partition);
      try {
        await listener()?.onAssigned(present.map(toAssignedPartition));
      } finally {
        this.#commitStarts(present);
        for (const { partition, reset } of present) {
          if (partition.removalSignal.aborted) continue;
          this.#makeDeliverable(partition);
          if (reset) this.#reportReset(reset);
          if (partition.stopReason) this.stop(partition, partition.stopReason);
        }
        onReady();
      }
    });
  }

  /**
   * Makes the partition deliverable once its start offset is committed. If records were delivered
   * earlier, their commit could be overwritten by the commit of the start offset.
   */
  #makeDeliverable(partition: OwnedPartition): void {
    const stored = this.#startCommits.get(partition);
    if (!stored) return void (partition.deliverable = true);
    void stored.then(() => {
      if (partition.removalSignal.aborted) return;
      partition.deliverable = true;
      this.#options.onReady();
    });
  }

  /**
   * Commits the start offsets, also for partitions that are already being removed. Otherwise their
   * next owner would determine another start position.
   */
  #commitStarts(pending: readonly PendingAssignment[]): void {
    const { ownedPartitions, commitStarts } = this.#options;
    const starts = pending.flatMap((assignment) => {
      const start =
        ownedPartitions.isCurrent(assignment.partition) && startOffsetToCommit(assignment);
      return start ? [{ partition: assignment.partition, start }] : [];
    });
    if (starts.length === 0) return;
    const stored = commitStarts(starts.map(({ start }) => start));
    for (const { partition } of starts) this.#startCommits.set(partition, stored);
    void stored.then(() => {
      for (const { partition } of starts) this.#startCommits.delete(partition);
    });
  }

  /**
   * Waits until the start offsets are committed. Without that commit the next owner would determine
   * another start position and skip the records that were written in between.
   */
  async #waitForStartCommits(owned: readonly OwnedPartition[]): Promise<void> {
    const { cluster, rebalanceTimeoutMs } = this.#options;
    const stored = owned.flatMap((partition) => this.#startCommits.get(partition) ?? []);
    if (stored.length === 0) return;
    const timeoutError = () => new Error('The start offsets were not committed in time.');
    const timeoutMs = Math.min(rebalanceTimeoutMs * START_COMMIT_SHARE, MAX_START_COMMIT_WAIT_MS);
    await within(cluster.runtime, timeoutMs, Promise.all(stored), timeoutError).catch(
      () => undefined,
    );
  }

  /** Stops the delivery of these partitions. */
  #beginRemoval(partitions: readonly TopicPartition[]): OwnedPartition[] {
    const { ownedPartitions, logger, groupId } = this.#options;
    const owned = partitions.flatMap((partition) => ownedPartitions.get(partition) ?? []);
    for (const partition of owned) partition.beginRemoval();
    logger.info('Partitions are being revoked or lost', {
      groupId,
      partitions: owned.map(toTopicPartition),
    });
    return owned;
  }

  /** Returns the partitions that were passed to `onAssigned`. */
  #announcedOf(owned: readonly OwnedPartition[]): TopicPartition[] {
    return owned.filter((partition) => this.#announced.has(partition)).map(toTopicPartition);
  }

  #remove(partition: OwnedPartition): void {
    this.#options.ownedPartitions.remove(partition);
    this.#options.status.clearErrors(partition);
  }

  #reportReset(reset: PositionReset): void {
    const { logger, listener, groupId } = this.#options;
    if (reset.reason === 'log-truncated')
      logger.error(
        'The log was truncated below the records that were read (unclean leader election)',
        {
          code: 'LOG_TRUNCATED',
          groupId,
          ...reset,
        },
      );
    else
      logger[reset.from === null ? 'info' : 'warn']('Reading starts where the reset policy says', {
        groupId,
        ...reset,
      });
    this.#notifyListener(() => listener()?.onReset?.(reset));
  }

  /**
   * Runs a callback and reports its error in the status. No step of the protocol waits for this
   * callback, so its error fails nothing else.
   */
  #notifyListener(call: () => void | Promise<void> | undefined): void {
    void (async () => call())().catch((error: unknown) => {
      this.#options.status.reportBriefly(error as Error);
    });
  }

  /**
   * Limits how long `onLost` delays later callbacks. The group has continued, so new partitions are
   * announced even if `onLost` has not ended.
   */
  #withTimeLimit(call: Promise<void>): Promise<void> {
    const { cluster, rebalanceTimeoutMs } = this.#options;
    const timeoutError = () => new Error('onLost did not end in time.');
    return within(cluster.runtime, rebalanceTimeoutMs, call, timeoutError).catch(() => undefined);
  }

  /** Runs the callback after all earlier callbacks of the listener have ended. */
  #queueListenerCall(call: () => void | Promise<void> | undefined): Promise<void> {
    const turn = this.#lastListenerCall.then(call);
    this.#lastListenerCall = turn.catch(() => undefined);
    return turn;
  }
}

function toTopicPartition({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition };
}
