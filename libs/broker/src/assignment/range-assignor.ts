import type { TopicPartition } from '../port/record.js';
import type { AssignmentInput, AssignmentPlan, Assignor } from './assignor.js';
import { byInstanceThenMemberId, orderedMembers } from './member-order.js';
import { subscribersByTopic } from './subscribers.js';

/**
 * Java's RangeAssignor: assigns each topic separately, in contiguous ranges whose sizes differ by
 * at most one; the first members get the larger ranges. Topics with the same number of partitions
 * and the same subscribers are divided alike, so that equal keys go to the same member.
 */
export class RangeAssignor implements Assignor {
  readonly name = 'range';
  readonly cooperative = false;

  userData(): null {
    return null;
  }

  assign({ members, partitionsOf }: AssignmentInput): AssignmentPlan {
    const ordered = orderedMembers(members, byInstanceThenMemberId);
    const plan = new Map(ordered.map(({ memberId }): [string, TopicPartition[]] => [memberId, []]));
    for (const [topic, subscribers] of subscribersByTopic(ordered)) {
      const sizes = rangeSizes(partitionsOf.get(topic) ?? 0, subscribers.length);
      let partition = 0;
      subscribers.forEach(({ memberId }, index) => {
        const end = partition + (sizes[index] ?? 0);
        for (; partition < end; partition++) plan.get(memberId)?.push({ topic, partition });
      });
    }
    return plan;
  }
}

function rangeSizes(partitions: number, members: number): number[] {
  const base = Math.floor(partitions / members);
  const larger = partitions % members;
  return Array.from({ length: members }, (_, index) => base + (index < larger ? 1 : 0));
}
