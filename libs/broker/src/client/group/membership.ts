import { NO_GENERATION } from '../../assignment/index.js';
import type { GroupProtocol, SessionStatus } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';

/**
 * Callbacks about the membership. Each call is awaited for a limited time. A callback that throws
 * does not stop the protocol: the step is completed and the error is reported by `onStatus`.
 *
 * Calls may overlap: partitions can be revoked or lost while others, or the same ones, are still
 * being assigned. The listener orders what it passes on.
 */
export interface MembershipListener {
  /**
   * Called with newly assigned partitions. Also called once without partitions, for a member that
   * had none before.
   */
  onAssigned(partitions: readonly TopicPartition[], generation: number): Promise<void>;
  /**
   * Called while the partitions are still owned, so a commit succeeds here. Heartbeats go on
   * meanwhile. Not called without partitions.
   */
  onRevoked(partitions: readonly TopicPartition[]): Promise<void>;
  /** Called when the partitions are no longer owned. Not called without partitions. */
  onLost(partitions: readonly TopicPartition[]): Promise<void>;
  onStatus(status: SessionStatus): void;
}

/**
 * Identity of the member when a request was sent. A response to an old identity says nothing about
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

export interface Membership {
  /** Starts the membership, which runs by itself until `close` and never throws. */
  start(): void;
  readonly snapshot: MemberSnapshot;
  /** See `ConsumerSession.leaseUntil`. */
  readonly leaseUntil: number;
  /** Empty during a join in the eager protocol. */
  readonly assignment: readonly TopicPartition[];
  /**
   * Returns whether the partition has been owned without interruption since then. Offsets that were
   * read then may still be committed.
   */
  owns(partition: TopicPartition, since: MemberSnapshot): boolean;
  /**
   * Returns whether the group may have moved on to a newer generation in which the partitions are
   * still owned.
   */
  mayHaveNewGeneration(snapshot: MemberSnapshot): boolean;
  /** Resolves once the member has an assignment again, has lost its partitions, or has ended. */
  whenSettled(): Promise<void>;
  /** Reports that the group rejected this identity of the member. */
  reportExpelled(snapshot: MemberSnapshot, code: number): void;
  /**
   * Revokes the partitions (a commit succeeds meanwhile), sends one LeaveGroup with a timeout and
   * closes the connections. A static member does not leave, because it may return.
   */
  close(): Promise<void>;
}

/** An involuntary end of the membership. */
export interface MembershipLoss {
  readonly kind: 'lost';
  /**
   * Next step: join with the current member id, join as a new member, use the classic protocol, or
   * fail.
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
