/** Everything that talks to the group coordinator. */
export { ClassicMembership, type ClassicMembershipOptions } from './classic-membership.js';
export { GroupCoordinator, type CoordinatorAnswer } from './group-coordinator.js';
export type { GroupCluster } from './group-cluster.js';
export { groupLane, joinLane } from './lanes.js';
export { membershipByProtocol } from './membership-by-protocol.js';
export type { MemberSnapshot, Membership, MembershipHost } from './membership.js';
export { OffsetCommitter, type OffsetCommitterOptions } from './offset-committer.js';
