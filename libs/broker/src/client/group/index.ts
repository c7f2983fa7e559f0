/** The code that sends requests to the group coordinator. */
export { ClassicMembership, type ClassicMembershipOptions } from './classic/classic-membership.js';
export { GroupCoordinator, type CoordinatorAnswer } from './group-coordinator.js';
export { groupChannel, joinChannel } from './group-channels.js';
export { membershipByProtocol } from './membership-by-protocol.js';
export type { MemberSnapshot, Membership, MembershipListener } from './membership.js';
export { OffsetCommitter, type OffsetCommitterOptions } from './commits/offset-committer.js';
