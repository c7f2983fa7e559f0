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
import type { Divergence, StartPosition, StartPositions } from './start-positions.js';
import type { ConsumerStatus } from '../consumer-status.js';
import { retryUntilAnswered } from './retry-until-answered.js';

export interface PartitionLifecycleOptions {
  readonly cluster: Cluster;
  readonly ownedPartitions: OwnedPartitions;
  readonly positions: StartPositions;
  readonly status: ConsumerStatus;
  readonly logger: DriverLogger;
  readonly groupId: string;
  fetchCommitted(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
    onTrouble: (error: Error) => void,
  ): Promise<readonly FetchedOffset[]>;
  readonly rebalanceTimeoutMs: number;
  /** Commits where partitions start; never rejects. */
  commitStarts(starts: readonly OffsetCommit[]): Promise<void>;
  listener(): AssignmentListener | undefined;
  /** Some partitions may be read now. */
  onReady(): void;
}

/** A partition whose leader cannot be asked for so long no longer keeps the others waiting. */
const START_LOOKUP_WAIT_MS = 5_000;

/** For longer a start that is not stored yet does not hold up a hand-back, nor the end of the session. */
const MAX_START_COMMIT_WAIT_MS = 5_000;
/** Of the rebalance time-out, where that is less. */
const START_COMMIT_SHARE = 0.5;

/**
 * What happens to a partition between the group's word and the first record, and back:
 * committed offset -> start position -> `onAssigned` -> deliverable -> `onRevoked` or `onLost`.
 *
 * Each goes its own way: some may leave while others, or the same ones, are still on their way in.
 * The listener is called once at a time, except with `onLost`, which waits for nobody.
 */
export class PartitionLifecycle {
  readonly #options: PartitionLifecycleOptions;
  readonly #announced = new WeakSet<OwnedPartition>();
  /** Whose start is being committed. */
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
    // Whatever the listener is still at has been given up.
    this.#lastListenerCall = Promise.resolve();
    if (announced.length === 0) return;
    const call = this.#queueListenerCall(() => this.#options.listener()?.onLost(announced));
    this.#lastListenerCall = this.#withTimeLimit(call);
    await call;
  }

  /** The offset asked for is not in the log: the reset policy decides, in the background. */
  onOutOfRange(partition: OwnedPartition): void {
    this.#restart(partition, (signal) =>
      this.#options.positions.resolveOutOfRange(partition, signal),
    );
  }

  /** What was read is not in the log any more: nothing is read on as if it were. */
  onTruncated(partition: OwnedPartition, divergence: Divergence | undefined): void {
    this.#restart(partition, (signal) =>
      this.#options.positions.resolveTruncated(partition, divergence, signal),
    );
  }

  #restart(partition: OwnedPartition, ask: (signal: AbortSignal) => Promise<StartPosition>): void {
    const { positionVersion, removalSignal } = partition;
    void this.#retryUntilAnswered(partition, removalSignal, ask).then((start) => {
      if (!start) return;
      // Moved meanwhile: the answer is to an older question, and the partition is asked for anew.
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

  /** Where they start is refused to us: membership goes on, and they follow once it is told. */
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
    // All have left before it was known where they start.
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
      // All have left before it was known: nobody's trouble.
      if (signal.aborted) return [];
      throw error;
    } finally {
      status.clearErrors(search);
    }
  }

  /** Finds where each starts; returns those that are not found yet and will be announced later. */
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
      // A seek that came during the look-up wins.
      if (partition.positionVersion === positionVersion) this.#applyStart(assignment, start);
      unresolved.delete(assignment);
      // Nobody waits for it any more: what the listener throws has no protocol step to fail.
      if (!isWaiting)
        await this.#announce([assignment]).catch((error: Error) => status.reportBriefly(error));
    });
    // A timer that nobody waits for any more would keep the process alive.
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

  /** The listener hears of a partition before its first record, and of what happened to it on the way. */
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

  /** What is handed out before its start is stored may be committed sooner, and taken back by that. */
  #makeDeliverable(partition: OwnedPartition): void {
    const stored = this.#startCommits.get(partition);
    if (!stored) return void (partition.deliverable = true);
    void stored.then(() => {
      if (partition.removalSignal.aborted) return;
      partition.deliverable = true;
      this.#options.onReady();
    });
  }

  /** Also of those that are on their way out again: whoever is next would look for a start anew. */
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

  /** Taken away before, where they start would be looked for again, and what was written meanwhile passed over. */
  async #waitForStartCommits(owned: readonly OwnedPartition[]): Promise<void> {
    const { cluster, rebalanceTimeoutMs } = this.#options;
    const stored = owned.flatMap((partition) => this.#startCommits.get(partition) ?? []);
    if (stored.length === 0) return;
    const timeoutError = () => new Error('Where partitions start was not stored in time.');
    const timeoutMs = Math.min(rebalanceTimeoutMs * START_COMMIT_SHARE, MAX_START_COMMIT_WAIT_MS);
    await within(cluster.runtime, timeoutMs, Promise.all(stored), timeoutError).catch(
      () => undefined,
    );
  }

  /** Nothing of them is handed out any more. */
  #beginRemoval(partitions: readonly TopicPartition[]): OwnedPartition[] {
    const { ownedPartitions, logger, groupId } = this.#options;
    const owned = partitions.flatMap((partition) => ownedPartitions.get(partition) ?? []);
    for (const partition of owned) partition.beginRemoval();
    logger.info('Partitions are handed back', { groupId, partitions: owned.map(toTopicPartition) });
    return owned;
  }

  /** Those of which the listener has been told. */
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
      logger.error('The log was cut back behind what was read (an unclean leader election)', {
        code: 'LOG_TRUNCATED',
        groupId,
        ...reset,
      });
    else
      logger[reset.from === null ? 'info' : 'warn']('Reading starts by the reset policy', {
        groupId,
        ...reset,
      });
    this.#notifyListener(() => listener()?.onReset?.(reset));
  }

  /** A listener that throws here has no protocol step to fail; it is reported and that is all. */
  #notifyListener(call: () => void | Promise<void> | undefined): void {
    void (async () => call())().catch((error: unknown) => {
      this.#options.status.reportBriefly(error as Error);
    });
  }

  /** The group has gone on by then: what it gives next is told, though nobody has dealt with the loss. */
  #withTimeLimit(call: Promise<void>): Promise<void> {
    const { cluster, rebalanceTimeoutMs } = this.#options;
    const timeoutError = () => new Error('onLost does not end.');
    return within(cluster.runtime, rebalanceTimeoutMs, call, timeoutError).catch(() => undefined);
  }

  /** After what the listener was called for before. */
  #queueListenerCall(call: () => void | Promise<void> | undefined): Promise<void> {
    const turn = this.#lastListenerCall.then(call);
    this.#lastListenerCall = turn.catch(() => undefined);
    return turn;
  }
}

function toTopicPartition({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition };
}
