import type { AssignorName } from '../port/consumer.js';
import type { TopicPartition } from '../port/record.js';
import type { Subscription } from './protocol/consumer-protocol.js';

/** A member of the group as its leader sees it. */
export interface AssignorMember extends Subscription {
  readonly memberId: string;
  /** The id of a static member. */
  readonly instanceId: string | null;
}

/** The last assignment of a member, and its generation. */
export interface PreviousAssignment {
  readonly partitions: readonly TopicPartition[];
  readonly generation: number;
}

export interface AssignmentInput {
  readonly members: readonly AssignorMember[];
  /** The partition count of each existing topic. A topic that is missing here is not assigned. */
  readonly partitionsOf: ReadonlyMap<string, number>;
}

/** The assignment of each member by member id; a member without partitions has an empty list. */
export type AssignmentPlan = ReadonlyMap<string, readonly TopicPartition[]>;

/**
 * Assigns partitions to members. Each partition of an existing subscribed topic goes to exactly one
 * subscriber; a cooperative assignor leaves out partitions that are about to move. The order of
 * `members` makes no difference.
 */
export interface Assignor {
  /** The protocol name in JoinGroup, the same as Java's. */
  readonly name: AssignorName;
  /**
   * True if members keep their partitions while they join. With other assignors members hand back
   * everything first.
   */
  readonly cooperative: boolean;
  /**
   * Returns the data that the member sends to the leader when it joins; `previous` is null at the
   * first join.
   */
  userData(previous: PreviousAssignment | null): Buffer | null;
  assign(input: AssignmentInput): AssignmentPlan;
}
