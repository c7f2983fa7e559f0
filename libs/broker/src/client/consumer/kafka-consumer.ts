import type {
  AssignmentListener,
  CommittedOffset,
  ConsumerSession,
  OffsetCommit,
  SessionStatus,
} from '../../port/consumer.js';
import type { DriverLogger } from '../../port/driver.js';
import {
  ClosedError,
  FencedError,
  InvalidOptionError,
  PartitionError,
  PoisonBatchError,
} from '../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../port/record.js';
import type { ResolvedConsumerOptions } from '../../port/validate-options.js';
import { Deferred, abortable } from '../../runtime/index.js';
import {
  GroupCoordinator,
  membershipByProtocol,
  OffsetCommitter,
  type Membership,
} from '../group/index.js';
import type { Cluster } from '../../wire/index.js';
import { AssignmentRoad } from './assignment/partition-lifecycle.js';
import { commitOwned } from './commit-owned.js';
import { FetchPump } from './fetching/fetch-pump.js';
import type { OwnedPartition } from './fetching/owned-partition.js';
import { Ownership } from './assignment/ownership.js';
import { PartitionGrowth } from './assignment/partition-growth.js';
import type { BudgetShare } from './fetching/prefetch-budget.js';
import { RecordIntake } from './fetching/record-intake.js';
import { StartPositions } from './assignment/start-positions.js';
import { StatusBoard } from './consumer-status.js';

export interface KafkajsConsumerParts {
  readonly cluster: Cluster;
  /** Tells this session's connections from those of others. */
  readonly sessionId: string;
  readonly options: ResolvedConsumerOptions;
  /** How often the leader of the group looks for new partitions. */
  readonly metadataMaxAgeMs: number;
  readonly rackId: string | undefined;
  readonly share: BudgetShare;
  readonly logger: DriverLogger;
  /** The broker does not offer the protocol that was asked for. */
  onFallback(error: Error): void;
  onClosed(): void;
}

/** A member of a group: joins membership, fetching and committing into the port's session. */
export class KafkajsConsumer implements ConsumerSession {
  readonly #parts: KafkajsConsumerParts;
  readonly #ownership = new Ownership();
  readonly #board: StatusBoard;
  readonly #membership: Membership;
  readonly #committer: OffsetCommitter;
  readonly #road: AssignmentRoad;
  readonly #pump: FetchPump;
  readonly #intake: RecordIntake;
  readonly #growth: PartitionGrowth;
  #listener: AssignmentListener | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: KafkajsConsumerParts) {
    this.#parts = parts;
    const { cluster, sessionId, options, share, logger } = parts;
    this.#board = new StatusBoard(cluster.runtime, logger);
    this.#intake = new RecordIntake(this.#ownership, (partition, error) =>
      this.#stop(partition, error),
    );
    this.#growth = new PartitionGrowth({
      cluster,
      topics: options.topics,
      policy: options.offsetReset,
      logger,
      committed: (partitions, signal) => this.#committer.fetch(partitions, { signal }),
    });
    const positions = new StartPositions({
      cluster,
      isolation: options.isolation,
      policy: options.offsetReset,
      isNew: (partition) => this.#growth.isNew(partition),
      onTrouble: (partition, error) => this.#board.trouble(partition, error),
    });
    this.#pump = new FetchPump({
      cluster,
      sessionId,
      isolation: options.isolation,
      fetch: options.fetch,
      rackId: parts.rackId,
      share,
      host: {
        partitions: this.#ownership,
        onRecords: () => this.#intake.notify(),
        onOutOfRange: (partition) => this.#road.outOfRange(partition),
        onTruncated: (partition, divergence) => this.#road.truncated(partition, divergence),
        onStopped: (partition, error) => this.#stop(partition, error),
        onTrouble: (partition, error) => this.#onTrouble(partition, error),
        onProgress: (partition) => this.#board.recovered(partition),
        onBroken: (error) => this.#broken(error),
      },
    });
    const coordinator = new GroupCoordinator({ cluster, groupId: options.groupId, sessionId });
    this.#committer = new OffsetCommitter({
      coordinator,
      membership: () => this.#membership,
      isOwned: (partition) => this.#ownership.get(partition) !== undefined,
    });
    this.#road = new AssignmentRoad({
      cluster,
      ownership: this.#ownership,
      positions,
      board: this.#board,
      logger,
      groupId: options.groupId,
      rebalanceTimeoutMs: options.rebalanceTimeoutMs,
      committed: (partitions, signal, onTrouble) =>
        this.#committer.fetch(partitions, { signal, onTrouble }),
      keep: (starts) => this.#keep(starts),
      listener: () => this.#listener,
      onReady: () => {
        this.#pump.wake();
        this.#intake.notify();
      },
    });
    this.#membership = membershipByProtocol({
      ...options,
      cluster,
      coordinator,
      sessionId,
      logger,
      onFallback: parts.onFallback,
      metadataRefreshMs: parts.metadataMaxAgeMs,
      host: {
        onAssigned: (partitions) => {
          this.#growth.note();
          return this.#road.assigned(partitions);
        },
        onRevoked: (partitions) => this.#road.revoked(partitions),
        onLost: (partitions) => this.#road.lost(partitions),
        onStatus: (status) => this.#onMembership(status),
      },
    });
  }

  get memberId(): string {
    return this.#membership.snapshot.memberId;
  }

  get generation(): number {
    return this.#membership.snapshot.generation;
  }

  get status(): SessionStatus {
    return this.#board.status;
  }

  onStatus(listener: (status: SessionStatus) => void): () => void {
    return this.#board.subscribe(listener);
  }

  async start(listener: AssignmentListener, signal?: AbortSignal): Promise<void> {
    if (this.#listener)
      throw new InvalidOptionError('This session was started already: make another one.');
    if (this.#closing) throw closed();
    signal?.throwIfAborted();
    this.#listener = listener;
    const joined = new Deferred();
    const unsubscribe = this.#board.subscribe(() => {
      const status = this.#board.membership;
      if (status.state === 'stable') joined.resolve();
      if (status.state === 'failed') joined.reject(status.error);
      if (status.state === 'closed') joined.reject(closed());
    });
    try {
      await abortable(this.#join(joined.promise), signal);
    } catch (error) {
      if (signal?.aborted) await this.close();
      throw error;
    } finally {
      unsubscribe();
    }
  }

  async #join(joined: Promise<void>): Promise<void> {
    await this.#growth.look();
    this.#membership.start();
    await joined;
  }

  poll(...asked: Parameters<ConsumerSession['poll']>): Promise<readonly BrokerRecord[]> {
    return this.#intake.poll(...asked);
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#ownership.pause(partitions);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#ownership.resume(partitions);
    this.#pump.wake();
    this.#intake.notify();
  }

  paused(): readonly TopicPartition[] {
    return this.#ownership.paused();
  }

  seek(partition: TopicPartition, offset: number): void {
    const owned = this.#ownership.get(partition);
    if (!owned) throw notOurs(partition);
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new InvalidOptionError(`seek needs an offset of 0 or more, not ${offset}.`);
    owned.adopt(this.topicId(partition.topic));
    owned.moveTo(offset);
    this.#pump.wake();
  }

  position(partition: TopicPartition): number | undefined {
    const position = this.#ownership.get(partition)?.position;
    return position === -1 ? undefined : position;
  }

  async commit(offsets: readonly OffsetCommit[]): Promise<void> {
    if (this.status.state === 'closed') throw closed();
    await commitOwned(offsets, this.#ownership, this.#committer);
  }

  async committed(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]> {
    if (this.status.state === 'closed') throw closed();
    const fetched = await this.#committer.fetch(partitions);
    return fetched.flatMap(({ topic, partition, committed }) =>
      committed ? [{ topic, partition, ...committed }] : [],
    );
  }

  assignment(): readonly TopicPartition[] {
    return this.#ownership.list();
  }

  topicId(topic: string): string | null {
    return this.#parts.cluster.metadata.topic(topic)?.id ?? null;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#intake.end(closed());
    await this.#leaveGroup();
    this.#release(closed());
    this.#board.set({ state: 'closed' });
    this.#parts.onClosed();
  }

  /** Whoever reads later starts there too, unless something newer is committed. */
  #keep(starts: readonly OffsetCommit[]): Promise<void> {
    return this.#committer.commit(starts).catch((error: unknown) => {
      // Taken away meanwhile: whoever has them now does the same.
      const level = error instanceof FencedError ? 'debug' : 'warn';
      this.#parts.logger[level]('Where partitions start could not be committed', {
        groupId: this.#parts.options.groupId,
        error: (error as Error).message,
      });
    });
  }

  #release(reason: Error): void {
    this.#pump.close(reason);
    for (const partition of [...this.#ownership]) this.#ownership.remove(partition);
    this.#parts.share.close();
  }

  #onMembership(status: SessionStatus): void {
    if (status.state === 'failed') return this.#fail(status.error);
    this.#board.set(status);
  }

  /** A mistake of our own: nobody would read what is ours, so the group gets it back at once. */
  #broken(error: Error): void {
    void this.#road.lost(this.#ownership.list()).catch((failure: unknown) => {
      this.#parts.logger.error('A callback of the assignment threw.', { error: failure });
    });
    this.#fail(error);
    void this.#leaveGroup();
  }

  async #leaveGroup(): Promise<void> {
    await this.#membership.close().catch((error: unknown) => {
      this.#parts.logger.warn('Leaving the group failed', { error: (error as Error).message });
    });
  }

  /** Beyond mending: polls reject, and nothing is read any more. */
  #fail(error: Error): void {
    this.#intake.end(error);
    this.#release(error);
    this.#board.set({
      state: 'failed',
      since: this.#parts.cluster.runtime.now(),
      error,
    });
  }

  /** An answer may come after the partition was handed back: then it is no trouble of ours. */
  #onTrouble(partition: OwnedPartition, error: Error): void {
    if (this.#ownership.holds(partition)) this.#board.trouble(partition, error);
  }

  #stop(partition: OwnedPartition, error: Error): void {
    if (!this.#ownership.holds(partition)) return;
    this.#road.stop(
      partition,
      error instanceof PartitionError ? error : unreadable(partition, error),
    );
  }
}

function closed(): ClosedError {
  return new ClosedError('The consumer session was closed.');
}

function notOurs({ topic, partition }: TopicPartition): FencedError {
  return new FencedError(
    [{ topic, partition }],
    `Cannot seek ${topic}/${partition}: it is not assigned to this session (any more). Seek in onAssigned, or while assignment() lists it.`,
  );
}

function unreadable(
  { topic, partition, position }: OwnedPartition,
  cause: Error,
): PoisonBatchError {
  return new PoisonBatchError(
    topic,
    partition,
    position,
    undefined,
    `Partition ${partition} of "${topic}" cannot be read at offset ${position}: ${cause.message} Seek behind it to go on.`,
    { cause },
  );
}
