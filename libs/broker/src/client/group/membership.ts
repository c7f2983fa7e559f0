import { NO_GENERATION } from '../../assignment/index.js';
import type { GroupProtocol, SessionStatus } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';

/**
 * Who is told what becomes of the membership. Each call is awaited, for a bounded time; one that
 * throws does not stop the protocol: the step is finished and the error reported by `onStatus`.
 *
 * Calls may overlap: partitions are taken back or lost while others, or the same ones, are still
 * being assigned. The host puts in order what it passes on.
 */
export interface MembershipListener {
  /** What is new. Also told of an assignment without partitions, to a member that had none before. */
  onAssigned(partitions: readonly TopicPartition[], generation: number): Promise<void>;
  /** Still ours: a commit in here succeeds. Heartbeats go on meanwhile. Not told where there is nothing to revoke. */
  onRevoked(partitions: readonly TopicPartition[]): Promise<void>;
  /** Not ours any more. Not told where there was nothing to lose. */
  onLost(partitions: readonly TopicPartition[]): Promise<void>;
  onStatus(status: SessionStatus): void;
}

/** Who we were to the group when a request was made. An answer to an old one says nothing about the new one. */
export interface MemberSnapshot {
  readonly groupId: string;
  /** Empty while not a member. */
  readonly memberId: string;
  /** -1 while not a member. In protocol `consumer` it is the member epoch. */
  readonly generation: number;
  /** Of a static member. */
  readonly groupInstanceId: string | null;
  readonly protocol: GroupProtocol;
}

export interface Membership {
  /** Runs by itself until `close`; nothing escapes from it. */
  start(): void;
  readonly snapshot: MemberSnapshot;
  /** Empty while joining, in the eager protocol. */
  readonly assignment: readonly TopicPartition[];
  /** Whether the partition has been ours without a break since then: what was read then may still be committed. */
  owns(partition: TopicPartition, since: MemberSnapshot): boolean;
  /** Whether the group may have gone on from there to a generation in which what we hold is still ours. */
  mayHaveNewGeneration(snapshot: MemberSnapshot): boolean;
  /** Resolves once we are a member again with a share, have lost what we held, or never will be. */
  whenSettled(): Promise<void>;
  /** An answer to this snapshot said that the group does not know us any more. */
  reportExpelled(snapshot: MemberSnapshot, code: number): void;
  /**
   * Revokes (a commit in it succeeds), leaves the group with one bounded try, closes the
   * connections. A static member does not leave: it may come back.
   */
  close(): Promise<void>;
}

/** The membership has ended without our doing. */
export interface MembershipLoss {
  readonly kind: 'lost';
  /** What to do next: join with the member id we have, as a new member, by the classic protocol, or nothing. */
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
