import type { AssignorName } from '../port/consumer.js';
import type { TopicPartition } from '../port/record.js';
import type { Subscription } from './protocol/consumer-protocol.js';

/** A member of the group as its leader sees it. */
export interface AssignorMember extends Subscription {
  readonly memberId: string;
  /** Of a static member. */
  readonly instanceId: string | null;
}

/** What a member was last assigned, and in which generation. */
export interface PreviousAssignment {
  readonly partitions: readonly TopicPartition[];
  readonly generation: number;
}

export interface AssignmentInput {
  readonly members: readonly AssignorMember[];
  /** How many partitions each existing topic has. A topic that is not here is assigned to nobody. */
  readonly partitionsOf: ReadonlyMap<string, number>;
}

/** Each member's share by member id; a member that gets nothing is there with an empty list. */
export type AssignmentPlan = ReadonlyMap<string, readonly TopicPartition[]>;

/**
 * Decides who reads what. Each partition of a topic that exists and that somebody subscribes to
 * goes to exactly one of its subscribers (a cooperative one leaves out what is about to move), and
 * the order of `members` makes no difference.
 */
export interface Assignor {
  /** Its name among the protocols of JoinGroup, the same as Java's. */
  readonly name: AssignorName;
  /** Whether members keep what they own while they join. The others hand back everything first. */
  readonly cooperative: boolean;
  /** What the member tells the leader when it joins; `previous` is null at the first join. */
  userData(previous: PreviousAssignment | null): Buffer | null;
  assign(input: AssignmentInput): AssignmentPlan;
}
