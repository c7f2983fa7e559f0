import { decodeAssignment } from '../../assignment/index.js';
import type { GroupDescription, GroupListing, GroupMember } from '../../port/admin.js';
import { MalformedResponseError, RefusedError, UnsupportedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import {
  consumerDescribeRequest,
  deleteGroupRequest,
  describeGroupRequest,
  errorOfCode,
  listGroupsRequest,
  type DescribedConsumerGroup,
  type DescribedGroup,
} from '../../wire/index.js';
import { Retry, retryOrThrow, type AdminCall } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { requestFromCoordinator } from './request-from-coordinator.js';

const NON_EMPTY_GROUP = 68;
const GROUP_ID_NOT_FOUND = 69;
const CONSUMER = 'consumer';
const DEAD = 'Dead';

export class GroupsAdmin {
  constructor(private readonly calls: AdminCalls) {}

  /**
   * Asks every broker, because a broker knows only the groups that it coordinates. If one broker
   * does not respond, the call is retried: a partial list would hide groups.
   */
  list(): Promise<readonly GroupListing[]> {
    return this.calls.run('Listing groups', (call) =>
      call.repeat<readonly GroupListing[]>(async () => {
        await call.refresh([]);
        const nodes = [...call.cluster.metadata.brokers.keys()];
        const parts = await Promise.all(nodes.map((node) => listGroupsOf(call, node)));
        const groups = new Map<string, GroupListing>();
        for (const part of parts) {
          if (part instanceof Retry) return part;
          for (const group of part) groups.set(group.groupId, group);
        }
        return [...groups.values()];
      }),
    );
  }

  describe(groupId: string): Promise<GroupDescription> {
    const doing = `Describing group "${groupId}"`;
    return this.calls
      .run(doing, (call) =>
        requestFromCoordinator<readonly DescribedGroup[], GroupDescription>(
          call,
          groupId,
          describeGroupRequest(groupId),
          ([group]) => {
            const code = group?.code ?? -1;
            return group && code === 0
              ? description(group)
              : retryOrThrow(code, errorOfCode(code, doing));
          },
        ),
      )
      .then((described) =>
        described.state === DEAD ? this.#describeConsumers(described) : described,
      );
  }

  /**
   * Describes a group of the consumer protocol (KIP-848). DescribeGroups reports such a group as
   * dead.
   */
  async #describeConsumers(unknown: GroupDescription): Promise<GroupDescription> {
    const { groupId } = unknown;
    const doing = `Describing group "${groupId}"`;
    try {
      return await this.calls.run(doing, (call) =>
        requestFromCoordinator<readonly DescribedConsumerGroup[], GroupDescription>(
          call,
          groupId,
          consumerDescribeRequest(groupId),
          ([group]) => {
            const code = group?.code ?? -1;
            if (group && code === 0) {
              const { state, assignor: protocol, members } = group;
              return { groupId, state, protocol, members };
            }
            return code === GROUP_ID_NOT_FOUND
              ? unknown
              : retryOrThrow(code, errorOfCode(code, doing));
          },
        ),
      );
    } catch (error) {
      // A broker without the consumer protocol has no such group.
      if (error instanceof UnsupportedError) return unknown;
      throw error;
    }
  }

  delete(groupId: string): Promise<boolean> {
    const doing = `Deleting group "${groupId}"`;
    return this.calls.run(doing, (call) =>
      requestFromCoordinator(call, groupId, deleteGroupRequest(groupId), ([answer]) => {
        const code = answer?.code ?? -1;
        if (code === 0) return true;
        // After a lost response the group was probably deleted by an earlier attempt of this call.
        if (code === GROUP_ID_NOT_FOUND) return call.mayHaveTakenEffect;
        if (code === NON_EMPTY_GROUP)
          throw groupHasMembers(groupId, 'The group cannot be deleted', code);
        return retryOrThrow(code, errorOfCode(code, doing));
      }),
    );
  }
}

export function groupHasMembers(groupId: string, what: string, brokerCode: number): RefusedError {
  return new RefusedError(
    `${what} while group "${groupId}" has members: stop its consumers first.`,
    false,
    { brokerCode },
  );
}

async function listGroupsOf(
  call: AdminCall,
  node: number,
): Promise<readonly GroupListing[] | Retry> {
  const { code, groups } = await call.request(node, listGroupsRequest());
  if (code === 0) return groups;
  return retryOrThrow(code, errorOfCode(code, `Listing the groups of broker ${node}`));
}

function description(group: DescribedGroup): GroupDescription {
  const { groupId, state, protocol, protocolType } = group;
  const members = group.members.map(({ assignment, ...member }): GroupMember => ({
    ...member,
    assignment: protocolType === CONSUMER ? partitionsIn(assignment) : [],
  }));
  return { groupId, state, protocol: protocol === '' ? null : protocol, members };
}

/**
 * Returns no partitions if a member encodes its assignment in an unknown format, so that the other
 * members are still listed.
 */
function partitionsIn(assignment: Buffer): readonly TopicPartition[] {
  try {
    return decodeAssignment(assignment);
  } catch (error) {
    if (error instanceof MalformedResponseError) return [];
    throw error;
  }
}
