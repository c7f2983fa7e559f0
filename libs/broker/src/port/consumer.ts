import type { BrokerRecord, TopicPartition } from './record.js';
import type { PartitionError } from './errors.js';

export type OffsetReset = 'earliest' | 'latest' | 'none';
export type Isolation = 'read_committed' | 'read_uncommitted';
/**
 * How a group shares its partitions. With `cooperative-sticky` (KIP-429) only what moves is
 * revoked, and the rest is read and committed while the group rebalances; with the others every
 * member hands back everything first. The broker chooses one that all members have.
 */
export type AssignorName = 'range' | 'sticky' | 'cooperative-sticky';

/**
 * How members agree on who reads what. `classic`: one of them decides for all, and all join again
 * whenever something changes. `consumer` (KIP-848, Kafka 4): the broker decides, and each member is
 * told what it has to give back and what it gets; nobody waits for anybody else.
 */
export type GroupProtocol = 'classic' | 'consumer';

export interface ConsumerOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  /**
   * In the order of preference; the group settles on one that all its members have, and each member
   * is as cooperative as that one. Default `['cooperative-sticky', 'sticky', 'range']`, by which a
   * group of older members becomes cooperative once the last of them has gone. When an eager member
   * joins a cooperative group, the others lose what they have (`onLost`) for that one rebalance.
   */
  readonly assignors?: readonly AssignorName[];
  /**
   * Where a partition starts without a committed offset, or with one that left the log. With `'none'`
   * it stops. Where it begins at the end, that is committed at once. A partition that was added when
   * the group had begun already is read from its first record, whatever is set here. A log that was cut back by an unclean leader election is read on from where it was cut,
   * or stops. Default `'earliest'`.
   */
  readonly offsetReset?: OffsetReset;
  /** Default `'read_committed'`. */
  readonly isolation?: Isolation;
  /**
   * A name of this member that outlives it (KIP-345), unique in the group. Then `close` does not
   * leave the group: who starts again with it within the session time-out gets back what it had,
   * and nobody else is disturbed. A second session with the same name fences the first, which fails
   * with StaticMemberFencedError. Topics that were added meanwhile are shared out at the group's
   * next rebalance. Default: none.
   */
  readonly groupInstanceId?: string;
  /**
   * Default `'classic'`. With `'consumer'`, assignors, session time-out and heartbeats are the
   * broker's (`group.consumer.*`): `assignors`, `sessionTimeoutMs` and `heartbeatIntervalMs` count
   * only where a broker does not offer the protocol, and the session falls back to `'classic'` with
   * a warning. A running group changes over, or back, one member at a time. A second session with
   * the same `groupInstanceId` does not fence the first: it waits until that one has gone, and says
   * so by StaticMemberInUseError.
   */
  readonly groupProtocol?: GroupProtocol;
  /** Default 45 s. */
  readonly sessionTimeoutMs?: number;
  /** Default 10 s; at most a third of the session time-out. */
  readonly heartbeatIntervalMs?: number;
  /** How long the group waits for this member to hand back its partitions. Default 30 s. */
  readonly rebalanceTimeoutMs?: number;
  readonly fetch?: FetchOptions;
}

export interface FetchOptions {
  /** How long the broker may hold a fetch that has nothing to give. Default 5 s; records that come earlier end it. */
  readonly maxWaitMs?: number;
  /** Default 1. */
  readonly minBytes?: number;
  /** Of one answer. Default 10 MiB. */
  readonly maxBytes?: number;
  /** Of one partition in one answer. Default 1 MiB. */
  readonly maxPartitionBytes?: number;
  /** Verify the CRC32C of every batch. Default true. */
  readonly checkCrc?: boolean;
  /** A batch that inflates beyond this is reported as poison. Default 64 MiB. */
  readonly maxInflatedBytes?: number;
}

export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string | null;
  readonly leaderEpoch: number;
}

/** A partition that has just become ours, with the place where reading will start. */
export interface AssignedPartition extends TopicPartition {
  /** -1 where the group has no offset and `offsetReset: 'none'` forbids to choose one. */
  readonly position: number;
  readonly committed: CommittedOffset | null;
}

export type ResetReason =
  /** The group has no committed offset. */
  | 'no-offset'
  /** The group has no committed offset, because the partition was added after it had begun. */
  | 'new-partition'
  /** The offset is not in the log (any more). */
  | 'out-of-range'
  /** An unclean leader election cut the log back behind the offset: from `to` on, other records stand there. */
  | 'log-truncated';

/** Reading went on at another offset than the group's, because that one is not in the log (any more). */
export interface PositionReset extends TopicPartition {
  readonly reason: ResetReason;
  /** null where the group had no offset. */
  readonly from: number | null;
  readonly to: number;
  readonly policy: Exclude<OffsetReset, 'none'>;
}

export interface OffsetCommit extends TopicPartition {
  /** The next offset to read: last done + 1. */
  readonly offset: number;
  readonly metadata?: string | null;
  /** Of the last consumed record's batch; -1 when unknown. Left out: as far as the session has read it itself. */
  readonly leaderEpoch?: number;
}

/**
 * Who is told about ownership. Each method is awaited. One that throws does not stop the
 * protocol: the step is finished, then the error is reported as a status. In a cooperative group
 * each is told only of what comes or goes; the other partitions are handed out and committed meanwhile.
 */
export interface AssignmentListener {
  /**
   * Before the first record of these partitions is handed out. A `seek` in here moves the start.
   * Also told when a member joins and gets none, not when one that stays gets none besides.
   */
  onAssigned(partitions: readonly AssignedPartition[]): void | Promise<void>;
  /** They are still ours: a commit in here succeeds. The group waits for this, up to the rebalance time-out. */
  onRevoked(partitions: readonly TopicPartition[]): void | Promise<void>;
  /** They are already somebody else's: commits are fenced. */
  onLost(partitions: readonly TopicPartition[]): void | Promise<void>;
  /** One partition cannot go on and waits for a `seek`; the others do. */
  onStopped?(error: PartitionError): void | Promise<void>;
  /**
   * Reading goes on elsewhere, as `offsetReset` allows: records between `from` and `to` are not read,
   * or are read again where `to` is the smaller.
   */
  onReset?(reset: PositionReset): void | Promise<void>;
}

export type SessionStatus =
  | { readonly state: 'idle' }
  | { readonly state: 'joining'; readonly since: number }
  | { readonly state: 'stable'; readonly since: number; readonly generation: number }
  | { readonly state: 'retrying'; readonly since: number; readonly error: Error }
  | { readonly state: 'failed'; readonly since: number; readonly error: Error }
  | { readonly state: 'closed' };

/** One member of a consumer group. It pulls; nothing is pushed at it. */
export interface ConsumerSession {
  /**
   * Resolves once joined, after the first `onAssigned`. While the cluster cannot be reached or a
   * topic is missing it keeps trying and says so by status; it rejects on what retrying cannot
   * mend, and when `signal` aborts or the session is closed.
   */
  start(listener: AssignmentListener, signal?: AbortSignal): Promise<void>;

  /**
   * Waits for records and gives at most `maxRecords`: those of one partition stand together,
   * in the order of their offsets. With `maxBytes` the record that reaches it is the last one, by
   * what keys, values and headers take. Rejects with the signal's reason when it aborts, with
   * ClosedError after `close`, with the session's error once it has failed.
   * One call at a time.
   */
  poll(
    maxRecords: number,
    signal?: AbortSignal,
    maxBytes?: number,
  ): Promise<readonly BrokerRecord[]>;

  /** No record of these is handed out until `resume`, not even a buffered one. Pauses survive rejoining. */
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  paused(): readonly TopicPartition[];

  /** The next record handed out has this offset or, where that is missing from the log, the next one. */
  seek(partition: TopicPartition, offset: number): void;
  /** The offset of the next record to be handed out; undefined when the partition is not ours. */
  position(partition: TopicPartition): number | undefined;

  /** Resolves once the broker has stored them. Rejects with a CommitError that names the partitions that were not. */
  commit(offsets: readonly OffsetCommit[]): Promise<void>;
  /** What the group has committed, asked from the broker. Missing partitions have none. */
  committed(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]>;

  assignment(): readonly TopicPartition[];
  /** The id by which a topic that was deleted and created again can be told; null when the broker has none. */
  topicId(topic: string): string | null;
  readonly memberId: string;
  readonly generation: number;

  readonly status: SessionStatus;
  /** Returns the function that ends the subscription. */
  onStatus(listener: (status: SessionStatus) => void): () => void;

  /**
   * Stops handing out, tells `onRevoked` (a commit in it succeeds), leaves the group (unless it has
   * a `groupInstanceId`) and closes.
   * Idempotent and bounded; drains no handler by itself.
   */
  close(): Promise<void>;
}
