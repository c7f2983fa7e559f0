import type { PreviousOwners } from './previous-owners.js';
import { MemberLoad, type EligibleMembers, type AssignablePartition } from './member-load.js';
import { subscribersByTopic } from '../subscribers.js';

export interface InitialLoads {
  readonly members: readonly MemberLoad[];
  /** Every subscribed partition, ordered by topic and partition. */
  readonly partitions: readonly AssignablePartition[];
}

/** Creates the loads before the assignment. `members` are in order of preference. */
export function createInitialLoads(
  members: readonly { readonly memberId: string; readonly topics: readonly string[] }[],
  partitionsOf: ReadonlyMap<string, number>,
  owners: PreviousOwners,
): InitialLoads {
  const loads = members.map(
    ({ memberId, topics }, order) => new MemberLoad(memberId, topics, order),
  );
  const eligibleBySubscribers = new Map<string, EligibleMembers>();
  const partitions: AssignablePartition[] = [];
  for (const [topic, subscribers] of subscribersByTopic(loads)) {
    const key = subscribers.map(({ order }) => order).join();
    const eligible = eligibleBySubscribers.get(key) ?? { members: new Set(subscribers) };
    eligibleBySubscribers.set(key, eligible);
    const count = partitionsOf.get(topic) ?? 0;
    for (let partition = 0; partition < count; partition++)
      partitions.push({
        topic,
        partition,
        eligible,
        order: partitions.length,
        previousOwner: owners.ownerOf(topic, partition),
      });
  }
  return { members: loads, partitions };
}
