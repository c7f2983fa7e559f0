import type { AssignorMember } from './assignor.js';
import { compareText } from './protocol/topic-partitions.js';

type MemberIdentity = Pick<AssignorMember, 'memberId' | 'instanceId'>;

export function byMemberId(left: MemberIdentity, right: MemberIdentity): number {
  return compareText(left.memberId, right.memberId);
}

/**
 * Sorts static members first. Their instance id survives a restart, so they keep their position.
 */
export function byInstanceThenMemberId(left: MemberIdentity, right: MemberIdentity): number {
  if (left.instanceId !== null && right.instanceId !== null)
    return compareText(left.instanceId, right.instanceId) || byMemberId(left, right);
  if (left.instanceId !== null) return -1;
  if (right.instanceId !== null) return 1;
  return byMemberId(left, right);
}

/** Returns each member id once, in order. */
export function orderedMembers(
  members: readonly AssignorMember[],
  compare: (left: MemberIdentity, right: MemberIdentity) => number,
): AssignorMember[] {
  return [...new Map(members.map((member) => [member.memberId, member])).values()].sort(compare);
}
