import type { BrokerRecord, TopicPartition } from './record.js';
import type { PartitionError } from './errors.js';

export type OffsetReset = 'earliest' | 'latest' | 'none';
export type Isolation = 'read_committed' | 'read_uncommitted';
/**
 * The strategy by which a group assigns its partitions. With `cooperative-sticky` (KIP-429) only
 * the partitions that move are revoked; the others are read and committed during the rebalance.
 * With the other assignors every member revokes all its partitions first. The broker chooses an
 * assignor that all members support.
 */
export type AssignorName = 'range' | 'sticky' | 'cooperative-sticky';

/**
 * The protocol by which partitions are assigned. `classic`: one member assigns partitions for all,
 * and all members rejoin at every change. `consumer` (KIP-848, Kafka 4): the broker assigns
 * partitions, and its responses name the partitions of each member. No member waits for another.
 */
export type GroupProtocol = 'classic' | 'consumer';

export interface ConsumerOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  /**
   * Names this session to the brokers: in group descriptions, quotas and request logs. Default: the
   * client id of the driver.
   */
  readonly clientId?: string;
  /**
   * Assignors in order of preference. The group uses one that all members support, and is
   * cooperative if that one is. Default `['cooperative-sticky', 'sticky', 'range']`: a group with
   * older members becomes cooperative when the last of them has left. When a member without a
   * cooperative assignor joins a cooperative group, the other members lose their partitions
   * (`onLost`) for that rebalance.
   */
  readonly assignors?: readonly AssignorName[];
  /**
   * The start position of a partition whose committed offset is missing or no longer in the log.
   * With `'none'` the partition stops. With `'latest'` the start position is committed at once. A
   * partition that was added after the group started is always read from its first record. If an
   * unclean leader election has truncated the log, reading continues at the first offset that
   * differs, or stops with `'none'`. Default `'earliest'`.
   */
  readonly offsetReset?: OffsetReset;
  /** Default `'read_committed'`. */
  readonly isolation?: Isolation;
  /**
   * The id of a static member (KIP-345), unique in the group and stable across restarts. `close`
   * then does not leave the group: a session that starts with the same id within the session
   * timeout gets the same partitions without a rebalance. A second session with the same id fences
   * the first one, which fails with StaticMemberFencedError. Topics that are added before the
   * restart are assigned at the next rebalance of the group. Default: none.
   */
  readonly groupInstanceId?: string;
  /**
   * Default `'classic'`. With `'consumer'` the broker controls assignor, session timeout and
   * heartbeats (`group.consumer.*`). `assignors`, `sessionTimeoutMs` and `heartbeatIntervalMs` then
   * apply only if the broker does not support the protocol: the session logs a warning and uses
   * `'classic'`. A running group can switch in both directions, one member at a time. A second
   * session with the same `groupInstanceId` does not fence the first one. It waits until the first
   * one has left, and reports StaticMemberInUseError.
   */
  readonly groupProtocol?: GroupProtocol;
  /** Default 45 s. */
  readonly sessionTimeoutMs?: number;
  /** Default 10 s; at most a third of the session timeout. */
  readonly heartbeatIntervalMs?: number;
  /**
   * The longest time for which the group waits until this member has revoked its partitions.
   * Default 30 s.
   */
  readonly rebalanceTimeoutMs?: number;
  readonly fetch?: FetchOptions;
}

export interface FetchOptions {
  /**
   * The longest time for which the broker waits for new records before it answers a fetch. Default
   * 5 s.
   */
  readonly maxWaitMs?: number;
  /** The number of bytes for which the broker waits before it answers a fetch. Default 1. */
  readonly minBytes?: number;
  /** The maximum size of one fetch response. Default 10 MiB. */
  readonly maxBytes?: number;
  /** The maximum size of one partition in a fetch response. Default 1 MiB. */
  readonly maxPartitionBytes?: number;
  /** Verifies the CRC-32C of every batch. Default true. */
  readonly checkCrc?: boolean;
  /**
   * The maximum size of a batch after decompression. A larger batch stops its partition with a
   * PoisonBatchError. Default 64 MiB.
   */
  readonly maxInflatedBytes?: number;
}

export interface CommittedOffset {
  readonly offset: number;
  readonly metadata: string | null;
  readonly leaderEpoch: number;
}

/** A partition that was just assigned, with its start position. */
export interface AssignedPartition extends TopicPartition {
  /** The start offset; -1 if the group has no offset and `offsetReset` is `'none'`. */
  readonly position: number;
  readonly committed: CommittedOffset | null;
}

export type ResetReason =
  /** The group has no committed offset. */
  | 'no-offset'
  /** The partition was added after the group started, so the group has no committed offset. */
  | 'new-partition'
  /** The offset is not, or no longer, in the log. */
  | 'out-of-range'
  /**
   * An unclean leader election truncated the log below the position. From `PositionReset.to` on the
   * log contains other records.
   */
  | 'log-truncated';

/**
 * Reports that reading continues at another offset, because the committed offset or the position is
 * missing or not in the log.
 */
export interface PositionReset extends TopicPartition {
  readonly reason: ResetReason;
  /** The previous position; null if the group had no offset. */
  readonly from: number | null;
  readonly to: number;
  readonly policy: Exclude<OffsetReset, 'none'>;
}

export interface OffsetCommit extends TopicPartition {
  /** The offset to store: the offset of the last completed record + 1. */
  readonly offset: number;
  readonly metadata?: string | null;
  /**
   * The leader epoch of the last consumed record; -1 if it is unknown. Default: the epoch with
   * which this session has read the record.
   */
  readonly leaderEpoch?: number;
}

/**
 * Callbacks for assignment changes. Each call is awaited. If a callback throws, the step of the
 * protocol is completed, and then the error is reported as a status. In a cooperative group only
 * the added or removed partitions are passed; the other partitions are read and committed during
 * the callback.
 */
export interface AssignmentListener {
  /**
   * Runs before the first record of these partitions is returned. A `seek` in the callback changes
   * the start position. Called with an empty list if a member joins and gets no partitions, but not
   * if an existing member gets no additional ones.
   */
  onAssigned(partitions: readonly AssignedPartition[]): void | Promise<void>;
  /**
   * Runs while the member still owns the partitions, so that a commit succeeds. The group waits for
   * the callback until the rebalance timeout.
   */
  onRevoked(partitions: readonly TopicPartition[]): void | Promise<void>;
  /**
   * Runs when other members may already own the partitions. Commits of these partitions are fenced.
   */
  onLost(partitions: readonly TopicPartition[]): void | Promise<void>;
  /**
   * Reports that one partition cannot be read and waits for a `seek`. The other partitions
   * continue.
   */
  onStopped?(error: PartitionError): void | Promise<void>;
  /**
   * Reports that reading continues at another offset, which `offsetReset` has determined. Records
   * between `from` and `to` are skipped, or read again if `to` is smaller.
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

/** A member of a consumer group. The caller gets records only by calling `poll`. */
export interface ConsumerSession {
  /**
   * Resolves after the member has joined and the first `onAssigned` has run. Retries and reports a
   * status while the cluster is unreachable or a topic is missing. Rejects on errors that a retry
   * cannot solve, when `signal` aborts, and when the session is closed.
   */
  start(listener: AssignmentListener, signal?: AbortSignal): Promise<void>;

  /**
   * Waits for records and returns at most `maxRecords`, grouped by partition and in offset order.
   * The record that reaches `maxBytes` (the size of keys, values and headers) is the last one.
   * Returns no records if only offsets without records were read: aborted records, control records
   * or compacted ones. `position` has then moved past them, and may be committed as soon as all
   * earlier records are done.
   * Rejects with the signal's reason when it aborts, with ClosedError after `close`, and with the
   * session's error after a failure. Only one call at a time is allowed.
   */
  poll(
    maxRecords: number,
    signal?: AbortSignal,
    maxBytes?: number,
  ): Promise<readonly BrokerRecord[]>;

  /**
   * Stops the delivery of these partitions until `resume`, including buffered records. A pause is
   * kept through a rebalance.
   */
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  paused(): readonly TopicPartition[];

  /**
   * Sets the offset of the next returned record. If compaction has removed that offset, the next
   * existing one is used. If it is out of range, `offsetReset` applies.
   */
  seek(partition: TopicPartition, offset: number): void;
  /**
   * Returns the offset of the next record to be returned; undefined if the member does not own the
   * partition.
   */
  position(partition: TopicPartition): number | undefined;

  /**
   * Resolves once the broker has stored the offsets. Rejects with a CommitError that names the
   * partitions that were not stored.
   */
  commit(offsets: readonly OffsetCommit[]): Promise<void>;
  /**
   * Fetches the committed offsets of the group from the broker. Partitions without a committed
   * offset are left out.
   */
  committed(
    partitions: readonly TopicPartition[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]>;

  assignment(): readonly TopicPartition[];
  /**
   * Returns the topic id, which changes when a topic is deleted and recreated; null if the broker
   * has no topic ids.
   */
  topicId(topic: string): string | null;
  readonly memberId: string;
  readonly generation: number;
  /**
   * Time of the monotonic clock until which the group cannot have given the partitions to another
   * member. Each answer of the group extends it to a session timeout after its request. Later, as
   * after a suspension of the process, no work may begin before the group has answered again.
   * -Infinity while the session is not a member.
   */
  readonly leaseUntil: number;

  readonly status: SessionStatus;
  /** Adds a status listener. Returns the function that removes the listener. */
  onStatus(listener: (status: SessionStatus) => void): () => void;

  /**
   * Stops the delivery, calls `onRevoked`, in which a commit succeeds, leaves the group unless it
   * is a static member, and closes the connections. Idempotent and limited in time. Does not wait
   * for the handlers of the application.
   */
  close(): Promise<void>;
}
