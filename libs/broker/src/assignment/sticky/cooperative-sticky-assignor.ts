import type { TopicPartition } from '../../port/record.js';
import type {
  AssignmentInput,
  AssignmentPlan,
  Assignor,
  AssignorMember,
  PreviousAssignment,
} from '../assignor.js';
import { NO_GENERATION } from '../protocol/consumer-protocol.js';
import { byMemberId, orderedMembers } from '../member-order.js';
import { PreviousOwners } from './previous-owners.js';
import { stickyPlan } from './sticky-plan.js';

/**
 * Java's CooperativeStickyAssignor (KIP-429), for members that join with their owned partitions and
 * keep reading them. A move takes two rounds: 1. The partition is assigned to no member while
 * another one still claims it. 2. That member revokes it and rejoins without it; then the partition
 * is assigned.
 */
export class CooperativeStickyAssignor implements Assignor {
  readonly name = 'cooperative-sticky';
  readonly cooperative = true;

  userData(previous: PreviousAssignment | null): Buffer {
    return encodeGeneration(previous?.generation ?? NO_GENERATION);
  }

  assign({ members, partitionsOf }: AssignmentInput): AssignmentPlan {
    const sticky = orderedMembers(members, byMemberId).map((member) => ({
      memberId: member.memberId,
      topics: member.topics,
      previous: { partitions: member.owned, generation: generationOf(member) },
    }));
    const claims = new PreviousOwners();
    for (const { memberId, previous } of sticky)
      for (const partition of previous.partitions)
        claims.claim(memberId, previous.generation, partition);
    const ideal = stickyPlan(sticky, partitionsOf);
    return new Map(
      [...ideal].map(([memberId, share]) => [
        memberId,
        share.filter((partition) => isFree(claims, partition, memberId)),
      ]),
    );
  }
}

/**
 * Returns whether no other member claims the partition. A member of an older generation may still
 * read it, even if another claim is stronger.
 */
function isFree(
  claims: PreviousOwners,
  { topic, partition }: TopicPartition,
  memberId: string,
): boolean {
  if (claims.ownerOf(topic, partition) === memberId) return true;
  return claims.claimantsOf(topic, partition).every((claimant) => claimant === memberId);
}

/** Returns the generation, which clients before Kafka 3.4 send in the user data. */
function generationOf({ generation, userData }: AssignorMember): number {
  return generation === NO_GENERATION ? decodeGeneration(userData) : generation;
}

/** Encodes in the format of Java's CooperativeStickyAssignor: the generation as i32 only. */
export function encodeGeneration(generation: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(generation);
  return bytes;
}

/** Returns no generation for invalid data: the claims of that member are then the weakest. */
function decodeGeneration(bytes: Buffer | null): number {
  return bytes !== null && bytes.length >= 4 ? bytes.readInt32BE(0) : NO_GENERATION;
}
