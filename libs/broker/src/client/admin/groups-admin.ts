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
import { Again, againAfter, type AdminCall } from './admin-call.js';
import type { AdminCalls } from './admin-calls.js';
import { askCoordinator } from './group-request.js';

const NON_EMPTY_GROUP = 68;
const NO_SUCH_GROUP = 69;
const CONSUMER = 'consumer';
const DEAD = 'Dead';

export class GroupsAdmin {
  constructor(private readonly calls: AdminCalls) {}

  /** Each broker knows its own groups only: one that does not answer would hide some. */
  list(): Promise<readonly GroupListing[]> {
    return this.calls.run('Listing groups', (call) =>
      call.repeat<readonly GroupListing[]>(async () => {
        await call.refresh([]);
        const nodes = [...call.cluster.metadata.brokers.keys()];
        const parts = await Promise.all(nodes.map((node) => listOf(call, node)));
        const groups = new Map<string, GroupListing>();
        for (const part of parts) {
          if (part instanceof Again) return part;
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
        askCoordinator<readonly DescribedGroup[], GroupDescription>(
          call,
          groupId,
          describeGroupRequest(groupId),
          ([group]) => {
            const code = group?.code ?? -1;
            return group && code === 0
              ? description(group)
              : againAfter(code, errorOfCode(code, doing));
          },
        ),
      )
      .then((described) =>
        described.state === DEAD ? this.#describeConsumers(described) : described,
      );
  }

  /** A group by KIP-848 is dead to those who ask about classic ones. */
  async #describeConsumers(unknown: GroupDescription): Promise<GroupDescription> {
    const { groupId } = unknown;
    const doing = `Describing group "${groupId}"`;
    try {
      return await this.calls.run(doing, (call) =>
        askCoordinator<readonly DescribedConsumerGroup[], GroupDescription>(
          call,
          groupId,
          consumerDescribeRequest(groupId),
          ([group]) => {
            const code = group?.code ?? -1;
            if (group && code === 0) {
              const { state, assignor: protocol, members } = group;
              return { groupId, state, protocol, members };
            }
            return code === NO_SUCH_GROUP ? unknown : againAfter(code, errorOfCode(code, doing));
          },
        ),
      );
    } catch (error) {
      // A broker that does not have the protocol has no such groups.
      if (error instanceof UnsupportedError) return unknown;
      throw error;
    }
  }

  delete(groupId: string): Promise<boolean> {
    const doing = `Deleting group "${groupId}"`;
    return this.calls.run(doing, (call) =>
      askCoordinator(call, groupId, deleteGroupRequest(groupId), ([answer]) => {
        const code = answer?.code ?? -1;
        if (code === 0) return true;
        // After a lost answer it was probably ours that did it.
        if (code === NO_SUCH_GROUP) return call.inDoubt;
        if (code === NON_EMPTY_GROUP)
          throw hasMembers(groupId, 'The group cannot be deleted', code);
        return againAfter(code, errorOfCode(code, doing));
      }),
    );
  }
}

export function hasMembers(groupId: string, what: string, brokerCode: number): RefusedError {
  return new RefusedError(
    `${what} while group "${groupId}" has members: stop its consumers first.`,
    false,
    { brokerCode },
  );
}

async function listOf(call: AdminCall, node: number): Promise<readonly GroupListing[] | Again> {
  const { code, groups } = await call.request(node, listGroupsRequest());
  if (code === 0) return groups;
  return againAfter(code, errorOfCode(code, `Listing the groups of broker ${node}`));
}

function description(group: DescribedGroup): GroupDescription {
  const { groupId, state, protocol, protocolType } = group;
  const members = group.members.map(({ assignment, ...member }): GroupMember => ({
    ...member,
    assignment: protocolType === CONSUMER ? partitionsIn(assignment) : [],
  }));
  return { groupId, state, protocol: protocol === '' ? null : protocol, members };
}

/** A member that writes a format of its own must not hide the others from an operator. */
function partitionsIn(assignment: Buffer): readonly TopicPartition[] {
  try {
    return decodeAssignment(assignment);
  } catch (error) {
    if (error instanceof MalformedResponseError) return [];
    throw error;
  }
}
