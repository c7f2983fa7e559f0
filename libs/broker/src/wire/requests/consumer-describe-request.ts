import type { GroupMember } from '../../port/admin.js';
import type { TopicPartition } from '../../port/record.js';
import { defineRequest, type ApiRequest } from './api-request.js';
import type { Reader } from './reader.js';

export interface DescribedConsumerGroup {
  readonly code: number;
  readonly groupId: string;
  readonly state: string;
  readonly assignor: string;
  readonly members: readonly GroupMember[];
}

/** Describes a group of the consumer protocol (KIP-848), which DescribeGroups does not support. */
export function consumerDescribeRequest(
  groupId: string,
): ApiRequest<readonly DescribedConsumerGroup[]> {
  return defineRequest({
    apiKey: 69,
    apiName: 'ConsumerGroupDescribe',
    versions: [0, 1],
    flexibleFrom: 0,
    write(writer) {
      writer.compactArray([groupId], (group) => writer.compactString(group));
      writer.boolean(false).noTags();
    },
    read(reader, version) {
      reader.int32();
      return reader.compactArray(() => {
        const code = reader.int16();
        reader.compactNullableString();
        const [group, state] = [reader.compactString(), reader.compactString()];
        // Skips the epochs of the group and of its target assignment.
        reader.raw(8);
        const assignor = reader.compactString();
        const members = reader.compactArray(() => readMember(reader, version));
        reader.int32();
        reader.skipTags();
        return { code, groupId: group, state, assignor, members };
      });
    },
  });
}

function readMember(reader: Reader, version: number): GroupMember {
  const [memberId, instanceId] = [reader.compactString(), reader.compactNullableString()];
  reader.compactNullableString();
  reader.int32();
  const [clientId, host] = [reader.compactString(), reader.compactString()];
  reader.compactArray(() => reader.compactString());
  reader.compactNullableString();
  const assignment = readAssignment(reader);
  // Skips the target assignment of the member.
  readAssignment(reader);
  // Skips the protocol of the member.
  if (version > 0) reader.int8();
  reader.skipTags();
  return { memberId, instanceId, clientId, host, assignment };
}

function readAssignment(reader: Reader): readonly TopicPartition[] {
  const shares = reader.compactArray(() => {
    reader.raw(16);
    const topic = reader.compactString();
    const partitions = reader.compactArray(() => ({ topic, partition: reader.int32() }));
    reader.skipTags();
    return partitions;
  });
  reader.skipTags();
  return shares.flat();
}
