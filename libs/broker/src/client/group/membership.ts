import { NO_GENERATION } from '../../assignment/index.js';
import type { GroupProtocol, SessionStatus } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';

/**
 * Callbacks about the membership. Each call is awaited for a limited time. If a callback throws,
 * the step of the protocol is completed and the error is reported by `onStatus`.
 *
 * Calls may overlap: partitions can be revoked or lost while others, or the same ones, are still
 * being assigned. The listener puts its own calls in order.
 */
export interface MembershipListener {
  /**
   * Called with newly assigned partitions. Also called once with an empty list if a member without
   * partitions gets none.
   */
  onAssigned(partitions: readonly TopicPartition[], generation: number): Promise<void>;
  /**
   * Called while the member still owns the partitions, so that a commit succeeds. Heartbeats
   * continue during the call. Never called with an empty list.
   */
  onRevoked(partitions: readonly TopicPartition[]): Promise<void>;
  /** Called when the member no longer owns the partitions. Never called with an empty list. */
  onLost(partitions: readonly TopicPartition[]): Promise<void>;
  onStatus(status: SessionStatus): void;
}

/**
 * The identity of the member when it sent a request. A response to an old identity does not affect
 * the new one.
 */
export interface MemberSnapshot {
  readonly groupId: string;
  /** Empty before the member has joined. */
  readonly memberId: string;
  /**
   * The generation, or the member epoch in protocol `consumer`; -1 before the member has joined.
   */
  readonly generation: number;
  /** Null for a dynamic member. */
  readonly groupInstanceId: string | null;
  readonly protocol: GroupProtocol;
}

/** What a session and its commits ask about the member. */
export interface GroupMember {
  readonly snapshot: MemberSnapshot;
  /** The end of the lease. See `ConsumerSession.leaseUntil`. */
  readonly leaseUntil: number;
  /**
   * Returns whether the member has owned the partition without interruption since the snapshot.
   * Offsets that were read since then may still be committed.
   */
  owns(partition: TopicPartition, since: MemberSnapshot): boolean;
  /**
   * Returns whether the group may have a newer generation in which this member still owns its
   * partitions.
   */
  mayHaveNewGeneration(snapshot: MemberSnapshot): boolean;
  /** Reports that the group rejected this member id and generation. */
  reportExpelled(snapshot: MemberSnapshot, code: number): void;
}

export interface Membership {
  /** The current member. Another one may replace it, so callers do not keep it. */
  readonly member: GroupMember;
  /** The owned partitions. Empty during a join in the eager protocol. */
  readonly assignment: readonly TopicPartition[];
  /** Starts the membership, which then runs until `close`. Never throws. */
  start(): void;
  /** Resolves once the member has an assignment, has lost its partitions, or has ended. */
  whenSettled(): Promise<void>;
  /**
   * Calls `onRevoked`, in which a commit succeeds, sends one LeaveGroup with a timeout, and closes
   * the connections. A static member does not leave, because it may restart.
   */
  close(): Promise<void>;
}

/** An involuntary end of the membership. */
export interface MembershipLoss {
  readonly kind: 'lost';
  /**
   * The next step: join with the current member id, join as a new member, use the classic protocol,
   * or fail.
   */
  readonly next: 'rejoin' | 'rejoin-as-new' | 'fall-back' | 'fail';
  readonly error: Error;
}

export function isSameGeneration(one: MemberSnapshot, other: MemberSnapshot): boolean {
  return one.memberId === other.memberId && one.generation === other.generation;
}

export const notAMember = (
  groupId: string,
  protocol: GroupProtocol = 'classic',
): MemberSnapshot => ({
  groupId,
  memberId: '',
  generation: NO_GENERATION,
  groupInstanceId: null,
  protocol,
});

/** The member of the consumer protocol before the membership has started. */
export const noConsumerMember = (groupId: string): GroupMember => ({
  snapshot: notAMember(groupId, 'consumer'),
  leaseUntil: -Infinity,
  owns: () => false,
  mayHaveNewGeneration: () => false,
  reportExpelled: () => undefined,
});
