/*
 * Who reads what: a room without sockets, shared by the drivers.
 *
 * Every member, when it joins:
 *   the protocols of memberProtocols({ assignors, topics, previous, held }), in their order.
 *   `previous` is the last assignment it got with its generation, null before the first one;
 *   `held` is what it goes on working on, null unless the group's last protocol was cooperative.
 *
 * The leader, when JoinGroup answers:
 *   const { members, unreadable } = readGroupMembers(joined);   // warn of the unreadable ones
 *   const partitionsOf = ...metadata of subscribedTopics(members);
 *   const plan = assignorNamed(protocolName).assign({ members, partitionsOf });
 *   SyncGroup with encodePlan(plan): it has every member, also those that get nothing.
 *
 * Every member, when JoinGroup answers:
 *   assignorNamed(protocolName).cooperative says whether it may hold on to what it has. If not, what
 *   it held is lost: an eager leader gives it away without asking.
 *
 * Every member, when SyncGroup answers:
 *   decodeAssignment(bytes), where zero bytes are no partitions.
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
