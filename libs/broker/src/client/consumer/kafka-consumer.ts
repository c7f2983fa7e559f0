import type {
  AssignmentListener,
  CommittedOffset,
  ConsumerSession,
  OffsetCommit,
  SessionStatus,
} from '../../port/consumer.js';
import type { DriverLogger } from '../../port/driver.js';
import { errorReasonOf } from '../../port/error-text.js';
import {
  ClosedError,
  FencedError,
  InvalidOptionError,
  PartitionError,
  PoisonBatchError,
} from '../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../port/record.js';
import type { ResolvedConsumerOptions } from '../../port/validate-consumer-options.js';
import { Deferred, abortable } from '../../runtime/index.js';
import {
  GroupCoordinator,
  membershipByProtocol,
  OffsetCommitter,
  type Membership,
} from '../group/index.js';
import type { Cluster } from '../../wire/index.js';
import { PartitionLifecycle } from './assignment/partition-lifecycle.js';
import { commitOwned } from './commit-owned.js';
import { Fetcher } from './fetching/fetcher.js';
import type { OwnedPartition } from './fetching/owned-partition.js';
import { OwnedPartitions } from './assignment/owned-partitions.js';
import { NewPartitionDetector } from './assignment/new-partition-detector.js';
import type { BudgetShare } from './fetching/prefetch-budget.js';
import { FetchedRecords } from './fetching/fetched-records.js';
import { ResetPositions } from './assignment/reset-positions.js';
import { StartPositions } from './assignment/start-positions.js';
import { ConsumerStatus } from './consumer-status.js';

export interface KafkaConsumerParts {
  readonly cluster: Cluster;
  /** Distinguishes the connections of this session from those of other sessions. */
  readonly sessionId: string;
  readonly options: ResolvedConsumerOptions;
  /** Interval at which the leader of the group looks for new partitions. */
  readonly metadataMaxAgeMs: number;
  readonly rackId: string | undefined;
  readonly share: BudgetShare;
  readonly logger: DriverLogger;
  /** Called when the broker does not support the requested group protocol. */
  onFallback(error: Error): void;
  onClosed(): void;
}

/** A consumer session on Kafka: connects membership, fetching and committing. */
export class KafkaConsumer implements ConsumerSession {
  readonly #parts: KafkaConsumerParts;
  readonly #ownedPartitions = new OwnedPartitions();
  readonly #status: ConsumerStatus;
  readonly #membership: Membership;
  readonly #committer: OffsetCommitter;
  readonly #lifecycle: PartitionLifecycle;
  readonly #fetcher: Fetcher;
  readonly #records: FetchedRecords;
  readonly #newPartitions: NewPartitionDetector;
  #listener: AssignmentListener | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: KafkaConsumerParts) {
    this.#parts = parts;
    const { cluster, sessionId, options, share, logger } = parts;
    this.#status = new ConsumerStatus(cluster.runtime, logger);
    this.#records = new FetchedRecords(this.#ownedPartitions, (partition, error) =>
      this.#stopPartition(partition, error),
    );
    this.#newPartitions = new NewPartitionDetector({
      cluster,
      topics: options.topics,
      policy: options.offsetReset,
      logger,
      committed: (partitions, signal) => this.#committer.fetch(partitions, { signal }),
    });
    const policy = options.offsetReset;
    const resets = new ResetPositions({
      cluster,
      isolation: options.isolation,
      policy,
      onError: (partition, error) => this.#status.reportFetchError(partition, error),
    });
    const positions = new StartPositions({
      policy,
      resets,
      isNew: (partition) => this.#newPartitions.isNew(partition),
    });
    this.#fetcher = new Fetcher({
      cluster,
      sessionId,
      isolation: options.isolation,
      fetch: options.fetch,
      rackId: parts.rackId,
      share,
      callbacks: {
        partitions: this.#ownedPartitions,
        onRecords: this.#records.notify,
        onOutOfRange: (partition) => this.#lifecycle.onOutOfRange(partition),
        onTruncated: (partition, divergence) => this.#lifecycle.onTruncated(partition, divergence),
        onStopped: (partition, error) => this.#stopPartition(partition, error),
        onError: (partition, error) => this.#onFetchError(partition, error),
        onProgress: (partition) => this.#status.clearErrors(partition),
        onInternalError: (error) => this.#failOnInternalError(error),
      },
    });
    const coordinator = new GroupCoordinator({ cluster, groupId: options.groupId, sessionId });
    this.#committer = new OffsetCommitter({
      coordinator,
      membership: () => this.#membership,
      ownedPartitions: this.#ownedPartitions,
    });
    this.#lifecycle = new PartitionLifecycle({
      cluster,
      ownedPartitions: this.#ownedPartitions,
      positions,
      resets,
      status: this.#status,
      logger,
      groupId: options.groupId,
      rebalanceTimeoutMs: options.rebalanceTimeoutMs,
      fetchCommitted: (partitions, signal, onError) =>
        this.#committer.fetch(partitions, { signal, onError }),
      commitStarts: (starts) => this.#commitStarts(starts),
      listener: () => this.#listener,
      onReady: () => {
        this.#fetcher.wake();
        this.#records.notify();
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
      listener: {
        onAssigned: (partitions) => {
          this.#newPartitions.recordTopicSizes();
          return this.#lifecycle.onAssigned(partitions);
        },
        onRevoked: (partitions) => this.#lifecycle.onRevoked(partitions),
        onLost: (partitions) => this.#lifecycle.onLost(partitions),
        onStatus: (status) => this.#onMembershipStatus(status),
      },
    });
  }

  get memberId(): string {
    return this.#membership.member.snapshot.memberId;
  }

  get generation(): number {
    return this.#membership.member.snapshot.generation;
  }

  get leaseUntil(): number {
    return this.#membership.member.leaseUntil;
  }

  get status(): SessionStatus {
    return this.#status.status;
  }

  onStatus(listener: (status: SessionStatus) => void): () => void {
    return this.#status.subscribe(listener);
  }

  async start(listener: AssignmentListener, signal?: AbortSignal): Promise<void> {
    if (this.#listener)
      throw new InvalidOptionError('This session was started already. Create a new one.');
    if (this.#closing) throw closed();
    signal?.throwIfAborted();
    this.#listener = listener;
    const joined = new Deferred();
    const unsubscribe = this.#status.subscribe(() => {
      const status = this.#status.membership;
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
    await this.#newPartitions.recordExisting();
    this.#membership.start();
    await joined;
  }

  poll(...asked: Parameters<ConsumerSession['poll']>): Promise<readonly BrokerRecord[]> {
    return this.#records.poll(...asked);
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#ownedPartitions.pause(partitions);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#ownedPartitions.resume(partitions);
    this.#fetcher.wake();
    this.#records.notify();
  }

  paused(): readonly TopicPartition[] {
    return this.#ownedPartitions.paused();
  }

  seek(partition: TopicPartition, offset: number): void {
    const owned = this.#ownedPartitions.get(partition);
    if (!owned) throw notAssigned(partition);
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new InvalidOptionError(`seek needs an offset of 0 or more, not ${offset}.`);
    owned.setTopicId(this.topicId(partition.topic));
    owned.moveTo(offset);
    this.#fetcher.wake();
  }

  position(partition: TopicPartition): number | undefined {
    const position = this.#ownedPartitions.get(partition)?.position;
    return position === -1 ? undefined : position;
  }

  async commit(offsets: readonly OffsetCommit[]): Promise<void> {
    if (this.#status.status.state === 'closed') throw closed();
    await commitOwned(offsets, this.#ownedPartitions, this.#committer);
  }

  async committed(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]> {
    if (this.#status.status.state === 'closed') throw closed();
    const fetched = await this.#committer.fetch(partitions);
    return fetched.flatMap(({ topic, partition, committed }) =>
      committed ? [{ topic, partition, ...committed }] : [],
    );
  }

  assignment(): readonly TopicPartition[] {
    return this.#ownedPartitions.list();
  }

  topicId(topic: string): string | null {
    return this.#parts.cluster.metadata.topic(topic)?.id ?? null;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#records.close(closed());
    await this.#leaveGroup();
    this.#release(closed());
    this.#status.setMembership({ state: 'closed' });
    this.#parts.onClosed();
  }

  /**
   * Commits start offsets, so that a later owner also starts there if nothing newer is committed.
   */
  #commitStarts(starts: readonly OffsetCommit[]): Promise<void> {
    return this.#committer.commit(starts).catch((error: unknown) => {
      // The partition was revoked before the commit. Its next owner commits a start offset of its
      // own.
      const level = error instanceof FencedError ? 'debug' : 'warn';
      this.#parts.logger[level]('The start offsets of partitions could not be committed', {
        groupId: this.#parts.options.groupId,
        error: errorReasonOf(error),
      });
    });
  }

  #release(reason: Error): void {
    this.#fetcher.close(reason);
    for (const partition of [...this.#ownedPartitions]) this.#ownedPartitions.remove(partition);
    this.#parts.share.close();
  }

  #onMembershipStatus(status: SessionStatus): void {
    if (status.state === 'failed') return this.#fail(status.error);
    this.#status.setMembership(status);
  }

  /**
   * Fails the session after an unexpected error. The session leaves the group at once, because it
   * would no longer read its partitions.
   */
  #failOnInternalError(error: Error): void {
    void this.#lifecycle.onLost(this.#ownedPartitions.list()).catch((failure: unknown) => {
      this.#parts.logger.error('An assignment callback threw.', { error: errorReasonOf(failure) });
    });
    this.#fail(error);
    void this.#leaveGroup();
  }

  async #leaveGroup(): Promise<void> {
    await this.#membership.close().catch((error: unknown) => {
      this.#parts.logger.warn('Leaving the group failed', { error: errorReasonOf(error) });
    });
  }

  /** Fails the session permanently: polls reject, and nothing is fetched any more. */
  #fail(error: Error): void {
    this.#records.close(error);
    this.#release(error);
    this.#status.setMembership({
      state: 'failed',
      since: this.#parts.cluster.runtime.now(),
      error,
    });
  }

  /**
   * Reports the error of a partition that is still owned. The error of a response that arrives
   * after the revocation is ignored.
   */
  #onFetchError(partition: OwnedPartition, error: Error): void {
    if (this.#ownedPartitions.isCurrent(partition)) this.#status.reportFetchError(partition, error);
  }

  #stopPartition(partition: OwnedPartition, error: Error): void {
    if (!this.#ownedPartitions.isCurrent(partition)) return;
    this.#lifecycle.stop(
      partition,
      error instanceof PartitionError ? error : unreadable(partition, error),
    );
  }
}

function closed(): ClosedError {
  return new ClosedError('The consumer session was closed.');
}

function notAssigned({ topic, partition }: TopicPartition): FencedError {
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
    `Partition ${partition} of "${topic}" cannot be read at offset ${position}: ${errorReasonOf(cause)} Seek past it to go on.`,
    { cause },
  );
}
