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
 * Returns the plan that is as even as the subscriptions allow and, within that, moves as few
 * partitions as possible:
 *
 *   1. Every member keeps its previous partitions.
 *   2. The other partitions go to the members with the lowest load.
 *   3. Partitions move only where evenness requires it.
 *
 * The caller provides the previous assignment of each member: from user data for eager members,
 * from owned partitions for cooperative ones. `members` have distinct ids, in order of preference.
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

/** Collects claims. A claim counts only for a topic that the member still subscribes to. */
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

/** Returns the partitions without a previous owner in the group. */
function retainPreviousPartitions({ members, partitions }: InitialLoads): AssignablePartition[] {
  const memberOf = new Map(members.map((member) => [member.memberId, member]));
  return partitions.filter((partition) => {
    const { previousOwner } = partition;
    const owner = previousOwner === null ? undefined : memberOf.get(previousOwner);
    owner?.take(partition);
    return owner === undefined;
  });
}

/**
 * Assigns partitions with the fewest eligible members first, because the others have more choices.
 */
function assignToLeastLoaded(partitions: readonly AssignablePartition[]): void {
  const fewestEligibleFirst = [...partitions].sort(
    (left, right) =>
      left.eligible.members.size - right.eligible.members.size || left.order - right.order,
  );
  for (const partition of fewestEligibleFirst)
    leastLoaded(partition.eligible.members)?.take(partition);
}
