import type { AssignmentPlan, PreviousAssignment } from '../assignor.js';
import { balance, leastLoaded } from './balance.js';
import { PreviousOwners } from './previous-owners.js';
import type { AssignablePartition } from './member-load.js';
import { createInitialLoads, type InitialLoads } from './initial-loads.js';

export interface StickyMember {
  readonly memberId: string;
  readonly topics: readonly string[];
  readonly previous: PreviousAssignment | null;
}

/**
 * The plan that is as even as the subscriptions allow and, within that, leaves partitions where
 * they were: everybody keeps what was theirs, the rest goes to whoever has least, then only what
 * evenness demands changes hands. Where a member's previous assignment comes from (user data for
 * eager members, owned partitions for cooperative ones) is the caller's affair.
 *
 * `members` have distinct ids and stand in the order in which they are to be preferred.
 */
export function stickyPlan(
  members: readonly StickyMember[],
  partitionsOf: ReadonlyMap<string, number>,
): AssignmentPlan {
  const loads = createInitialLoads(members, partitionsOf, previousOwnersOf(members));
  assignToLeastLoaded(retainPreviousPartitions(loads));
  balance(loads.members);
  return new Map(loads.members.map((member) => [member.memberId, member.partitions()]));
}

/** A claim counts only on a topic that the member still subscribes to. */
function previousOwnersOf(members: readonly StickyMember[]): PreviousOwners {
  const owners = new PreviousOwners();
  for (const { memberId, topics, previous } of members) {
    if (previous === null) continue;
    const subscribed = new Set(topics);
    for (const claimed of previous.partitions)
      if (subscribed.has(claimed.topic)) owners.claim(memberId, previous.generation, claimed);
  }
  return owners;
}

/** Answers the slots that were nobody's. */
function retainPreviousPartitions({ members, partitions }: InitialLoads): AssignablePartition[] {
  const memberOf = new Map(members.map((member) => [member.memberId, member]));
  return partitions.filter((partition) => {
    const { previousOwner } = partition;
    const owner = previousOwner === null ? undefined : memberOf.get(previousOwner);
    owner?.take(partition);
    return owner === undefined;
  });
}

/** Those with the fewest takers first: the others can still go elsewhere. */
function assignToLeastLoaded(partitions: readonly AssignablePartition[]): void {
  const fewestEligibleFirst = [...partitions].sort(
    (left, right) =>
      left.eligible.members.size - right.eligible.members.size || left.order - right.order,
  );
  for (const partition of fewestEligibleFirst)
    leastLoaded(partition.eligible.members)?.take(partition);
}
