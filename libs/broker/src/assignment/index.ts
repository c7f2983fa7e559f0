/*
 * Who reads what: a room without sockets, shared by the drivers.
 *
 * Every member, when it joins:
 *   for each assignor of assignorsInOrder(options.assignors), in this order, the protocol
 *   assignor.name with encodeSubscription({ topics, userData: assignor.userData(previous), owned: [], ... }).
 *   `previous` is the last assignment it got with its generation, null before the first one.
 *
 * The leader, when JoinGroup answers:
 *   const { members, unreadable } = readGroupMembers(joined);   // warn of the unreadable ones
 *   const partitionsOf = ...metadata of subscribedTopics(members);
 *   const plan = assignorNamed(protocolName).assign({ members, partitionsOf });
 *   SyncGroup with encodePlan(plan): it has every member, also those that get nothing.
 *
 * Every member, when SyncGroup answers:
 *   decodeAssignment(bytes), where zero bytes are no partitions.
 */
export type { AssignmentInput, AssignmentPlan, Assignor } from './assignor.js';
export type { AssignorMember, PreviousAssignment } from './assignor.js';
export { assignorNamed, assignorsInOrder, DEFAULT_ASSIGNORS } from './assignors.js';
export {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
  NO_GENERATION,
  type Subscription,
} from './consumer-protocol.js';
export {
  encodePlan,
  readGroupMembers,
  type GroupMembers,
  type JoinedMember,
  type UnreadableMember,
} from './group-members.js';
export { subscribedTopics } from './subscribers.js';
