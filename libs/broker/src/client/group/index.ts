/** Everything that talks to the group coordinator. */
export { ClassicMembership, type ClassicMembershipOptions } from './classic/classic-membership.js';
export { GroupCoordinator, type CoordinatorAnswer } from './group-coordinator.js';
export type { GroupCluster } from './group-cluster.js';
export { groupLane, joinLane } from './connection-lanes.js';
export { membershipByProtocol } from './membership-by-protocol.js';
export type { MemberSnapshot, Membership, MembershipHost } from './membership.js';
export { OffsetCommitter, type OffsetCommitterOptions } from './commits/offset-committer.js';
