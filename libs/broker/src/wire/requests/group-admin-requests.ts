import type { GroupListing } from '../../port/admin.js';
import type { TopicPartition } from '../../port/record.js';
import { defineRequest, type ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import type { PartitionCode } from './offset-requests.js';

export interface ListGroupsResponse {
  readonly code: number;
  readonly groups: readonly GroupListing[];
}

/** Lists the groups of one broker. A broker knows only the groups that it coordinates. */
export const listGroupsRequest = (): ApiRequest<ListGroupsResponse> =>
  defineRequest({
    apiKey: 16,
    apiName: 'ListGroups',
    versions: [2],
    write: () => undefined,
    read(reader) {
      reader.int32();
      const code = reader.int16();
      const groups = reader.array(() => ({
        groupId: reader.string(),
        protocolType: reader.string(),
      }));
      return { code, groups };
    },
  });

export interface DescribedMember {
  readonly memberId: string;
  readonly instanceId: string | null;
  readonly clientId: string;
  readonly host: string;
  readonly assignment: Buffer;
}

export interface DescribedGroup {
  readonly code: number;
  readonly groupId: string;
  readonly state: string;
  readonly protocolType: string;
  readonly protocol: string;
  readonly members: readonly DescribedMember[];
}

/** Describes a classic group. Version 4 contains the instance ids of the members. */
export function describeGroupRequest(groupId: string): ApiRequest<readonly DescribedGroup[]> {
  return defineRequest({
    apiKey: 15,
    apiName: 'DescribeGroups',
    versions: [4],
    write(writer) {
      writer.array([groupId], (group) => writer.string(group)).boolean(false);
    },
    read(reader) {
      reader.int32();
      return reader.array(() => {
        const group = {
          code: reader.int16(),
          groupId: reader.string(),
          state: reader.string(),
          protocolType: reader.string(),
          protocol: reader.string(),
          members: reader.array(() => {
            const memberId = reader.string();
            const instanceId = reader.nullableString();
            const clientId = reader.string();
            const host = reader.string();
            reader.nullableBytes();
            const assignment = reader.nullableBytes() ?? Buffer.alloc(0);
            return { memberId, instanceId, clientId, host, assignment };
          }),
        };
        reader.int32();
        return group;
      });
    },
  });
}

export interface GroupCode {
  readonly groupId: string;
  readonly code: number;
}

export function deleteGroupRequest(groupId: string): ApiRequest<readonly GroupCode[]> {
  return defineRequest({
    apiKey: 42,
    apiName: 'DeleteGroups',
    versions: [1],
    write(writer) {
      writer.array([groupId], (group) => writer.string(group));
    },
    read(reader) {
      reader.int32();
      return reader.array(() => ({ groupId: reader.string(), code: reader.int16() }));
    },
  });
}

export interface OffsetDeleteResponse {
  readonly code: number;
  readonly partitions: readonly PartitionCode[];
}

/**
 * Deletes committed offsets. OffsetDelete is the only response with the error code before the
 * throttle time.
 */
export function offsetDeleteRequest(
  groupId: string,
  partitions: readonly TopicPartition[],
): ApiRequest<OffsetDeleteResponse> {
  return defineRequest({
    apiKey: 47,
    apiName: 'OffsetDelete',
    versions: [0],
    throttleTimeMs: (body) => body.readInt32BE(2),
    write(writer) {
      writer.string(groupId).array(byTopic(partitions), ([topic, items]) => {
        writer.string(topic).array(items, ({ partition }) => writer.int32(partition));
      });
    },
    read(reader) {
      const code = reader.int16();
      reader.int32();
      const answered = reader.array(() => {
        const topic = reader.string();
        return reader.array(() => ({ topic, partition: reader.int32(), code: reader.int16() }));
      });
      return { code, partitions: answered.flat() };
    },
  });
}
