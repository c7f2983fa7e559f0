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
 * Java's CooperativeStickyAssignor (KIP-429), for members that join with what they own and work on
 * it meanwhile. It takes two rounds: what moves is given to nobody as long as somebody still
 * claims it. That one is told to give it up, joins again without it, and then it moves.
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

/** A member that is behind may still work on what it claims, whoever has the better right to it. */
function isFree(
  claims: PreviousOwners,
  { topic, partition }: TopicPartition,
  memberId: string,
): boolean {
  if (claims.ownerOf(topic, partition) === memberId) return true;
  return claims.claimantsOf(topic, partition).every((claimant) => claimant === memberId);
}

/** Clients before Kafka 3.4 tell it in the user data. */
function generationOf({ generation, userData }: AssignorMember): number {
  return generation === NO_GENERATION ? decodeGeneration(userData) : generation;
}

/** As Java's CooperativeStickyAssignor writes it: generation i32, and nothing else. */
export function encodeGeneration(generation: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(generation);
  return bytes;
}

/** What cannot be read counts as no generation: the claims that go with it are then the weakest. */
function decodeGeneration(bytes: Buffer | null): number {
  return bytes !== null && bytes.length >= 4 ? bytes.readInt32BE(0) : NO_GENERATION;
}
