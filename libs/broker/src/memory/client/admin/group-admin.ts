import { decodeAssignment, decodeSubscription } from '../../../assignment/index.js';
import type { GroupDescription, GroupListing } from '../../../port/admin.js';
import type { CommittedOffset, OffsetCommit } from '../../../port/consumer.js';
import { RefusedError, UnknownPartitionError, UnknownTopicError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import type { MemoryCluster } from '../../broker/memory-cluster.js';
import type { RefusedPartition } from '../../broker/groups/coordinator.js';
import type { ClassicGroup } from '../../broker/groups/classic-group.js';
import { isRefusal } from '../../broker/faults/refusal.js';
import { partitionNames } from '../../../port/topic-partition.js';
import { toBrokerError } from '../refusal-errors.js';
import type { AdminRequests } from './admin-requests.js';

export class GroupAdmin {
  constructor(private readonly calls: AdminRequests) {}

  list(): Promise<readonly GroupListing[]> {
    return this.calls.run({ operation: 'list-groups' }, ({ groups }) => groups.list());
  }

  async describe(groupId: string): Promise<GroupDescription> {
    const found = await this.calls.run({ operation: 'describe-group', groupId }, ({ groups }) =>
      groups.describe(groupId),
    );
    const members = found.members.map(({ assignment, ...member }) => ({
      ...member,
      instanceId: null,
      assignment: decodeAssignment(assignment),
    }));
    return { groupId, state: found.state, protocol: found.protocol, members };
  }

  offsets(
    groupId: string,
    topics?: readonly string[],
  ): Promise<readonly (TopicPartition & CommittedOffset)[]> {
    return this.calls.run({ operation: 'fetch-offsets', groupId }, ({ groups }) =>
      groups.allCommitted(groupId).filter(({ topic }) => !topics || topics.includes(topic)),
    );
  }

  async setOffsets(groupId: string, offsets: readonly OffsetCommit[]): Promise<void> {
    if (offsets.length === 0) return;
    const noMember = { groupId, memberId: '', generation: -1 };
    try {
      const refused = await this.calls.run(
        { operation: 'commit', groupId, partitions: offsets },
        ({ groups }) => groups.commit(noMember, offsets, () => undefined),
      );
      if (refused[0]) throw refusedOffsetsError(refused);
    } catch (error) {
      throw groupNotEmptyError(groupId, error);
    }
  }

  async deleteOffsets(groupId: string, partitions: readonly TopicPartition[]): Promise<void> {
    if (partitions.length === 0) return;
    await this.calls.run({ operation: 'delete-offsets', groupId, partitions }, ({ groups }) =>
      groups.deleteOffsets(groupId, partitions, isSubscribed),
    );
  }

  delete(groupId: string): Promise<boolean> {
    return this.calls.run({ operation: 'delete-group', groupId }, ({ groups }: MemoryCluster) => {
      try {
        groups.delete(groupId);
        return true;
      } catch (error) {
        if (isRefusal(error, 'GROUP_ID_NOT_FOUND')) return false;
        throw error;
      }
    });
  }
}

function isSubscribed({ members, protocol }: ClassicGroup, topic: string): boolean {
  return [...members.values()].some((member) =>
    decodeSubscription(member.metadata(protocol ?? member.protocolNames[0] ?? '')).topics.includes(
      topic,
    ),
  );
}

function refusedOffsetsError(refused: readonly RefusedPartition[]): Error {
  const [first] = refused;
  if (first && isRefusal(first.refusal, 'UNKNOWN_TOPIC_OR_PARTITION'))
    return first.refusal.message.includes(first.partition.topic)
      ? new UnknownTopicError(first.partition.topic, undefined, { cause: first.refusal })
      : new UnknownPartitionError(first.partition, undefined, { cause: first.refusal });
  return new RefusedError(
    `The offsets of ${partitionNames(refused.map(({ partition }) => partition))} were not stored: ${first?.refusal.message ?? ''}`,
    false,
    { cause: first?.refusal, brokerCode: first?.refusal.brokerCode },
  );
}

/**
 * Converts "unknown member", which a broker answers to a commit by a non-member if the group has
 * members.
 */
function groupNotEmptyError(groupId: string, error: unknown): Error {
  const shown = toBrokerError(error);
  if (shown.brokerCode !== 25) return shown;
  return new RefusedError(
    `The offsets of group "${groupId}" cannot be set while it has members. Stop its members first.`,
    false,
    { cause: error, brokerCode: 25 },
  );
}
