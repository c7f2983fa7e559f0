import type { AssignmentInput, AssignmentPlan, Assignor, PreviousAssignment } from '../assignor.js';
import { byMemberId, orderedMembers } from '../member-order.js';
import { stickyPlan } from './sticky-plan.js';
import { decodeStickyUserData, encodeStickyUserData } from '../protocol/sticky-user-data.js';

/**
 * Java's StickyAssignor, for members that hand back everything before they join. The user data
 * contains their previous partitions; `owned` is ignored, because they have revoked those.
 */
export class StickyAssignor implements Assignor {
  readonly name = 'sticky';
  readonly cooperative = false;

  userData(previous: PreviousAssignment | null): Buffer | null {
    return encodeStickyUserData(previous);
  }

  assign({ members, partitionsOf }: AssignmentInput): AssignmentPlan {
    const sticky = orderedMembers(members, byMemberId).map(({ memberId, topics, userData }) => ({
      memberId,
      topics,
      previous: decodeStickyUserData(userData),
    }));
    return stickyPlan(sticky, partitionsOf);
  }
}
