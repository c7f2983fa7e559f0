/*
 * Partition assignment, independent of sockets and shared by the drivers.
 *
 * Every member, when it joins:
 *   Sends memberProtocols({ assignors, topics, previous, held }) in their order. `previous` is its
 *   last assignment with the generation, null before the first one. `held` are the partitions that
 *   it keeps reading; null unless the last protocol of the group was cooperative.
 *
 * The leader, when JoinGroup answers:
 *   const { members, unreadable } = readGroupMembers(joined);   // log a warning for unreadable ones
 *   const partitionsOf = ...metadata of subscribedTopics(members);
 *   const plan = assignorNamed(protocolName).assign({ members, partitionsOf });
 *   Sends SyncGroup with encodePlan(plan), which contains every member, with or without partitions.
 *
 * Every member, when JoinGroup answers:
 *   If assignorNamed(protocolName).cooperative is false, the held partitions are lost: an eager
 *   leader assigns them without asking.
 *
 * Every member, when SyncGroup answers:
 *   Decodes its partitions with decodeAssignment(bytes); zero bytes mean no partitions.
 */
export type { AssignmentInput, AssignmentPlan, Assignor } from './assignor.js';
export type { AssignorMember, PreviousAssignment } from './assignor.js';
export { assignorNamed } from './assignors.js';
export {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
  NO_GENERATION,
  type Subscription,
} from './protocol/consumer-protocol.js';
export {
  encodePlan,
  readGroupMembers,
  type GroupMembers,
  type JoinedMember,
  type UnreadableMember,
} from './protocol/group-members.js';
export { memberProtocols, type JoiningMember } from './protocol/member-protocols.js';
export { subscribedTopics } from './subscribers.js';
