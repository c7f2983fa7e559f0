import { defineRequest, type ApiRequest } from './api-request.js';

/**
 * Partitions of a topic, which is named by its topic id. Assignments of KIP-848 contain no topic
 * names.
 */
export interface TopicIdPartitions {
  readonly topicId: string;
  readonly partitions: readonly number[];
}

export interface ConsumerMember {
  readonly groupId: string;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
}

/**
 * The fields of a member. The response to a heartbeat with all fields contains the whole
 * assignment, which other responses may omit.
 */
export interface ConsumerHeartbeatFields {
  readonly topics: readonly string[];
  readonly rebalanceTimeoutMs: number;
  readonly owned: readonly TopicIdPartitions[];
}

export interface ConsumerHeartbeatResponse {
  readonly errorCode: number;
  readonly message: string | null;
  readonly epoch: number;
  readonly intervalMs: number;
  /** The assignment; null if it has not changed. */
  readonly assignment: readonly TopicIdPartitions[] | null;
}

export const JOIN_GROUP_EPOCH = 0;
/** The epoch with which a member leaves permanently. Its partitions are reassigned at once. */
const LEAVE_GROUP_EPOCH = -1;
/** The epoch with which a static member leaves. It may return within the session timeout. */
const LEAVE_GROUP_STATIC_MEMBER_EPOCH = -2;

/**
 * A heartbeat (KIP-848), which also joins the group and confirms assignments. Since version 1 the
 * member chooses its own id.
 */
export function consumerHeartbeatRequest(
  member: ConsumerMember,
  epoch: number,
  claim: ConsumerHeartbeatFields,
): ApiRequest<ConsumerHeartbeatResponse> {
  return heartbeat(member, epoch, claim);
}

export function consumerLeaveRequest(
  member: ConsumerMember,
): ApiRequest<ConsumerHeartbeatResponse> {
  return heartbeat(
    member,
    member.groupInstanceId === null ? LEAVE_GROUP_EPOCH : LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    null,
  );
}

function heartbeat(
  { groupId, memberId, groupInstanceId }: ConsumerMember,
  epoch: number,
  claim: ConsumerHeartbeatFields | null,
): ApiRequest<ConsumerHeartbeatResponse> {
  return defineRequest({
    apiKey: 68,
    apiName: 'ConsumerGroupHeartbeat',
    versions: [1],
    flexibleFrom: 0,
    write(writer) {
      writer.compactString(groupId).compactString(memberId).int32(epoch);
      // The request has no rack, no pattern and no assignor, so the broker uses its defaults.
      writer.compactNullableString(groupInstanceId).compactNullableString(null);
      writer.int32(claim?.rebalanceTimeoutMs ?? -1);
      writer.compactArray(claim?.topics ?? null, (topic) => writer.compactString(topic));
      writer.compactNullableString(null).compactNullableString(null);
      writer
        .compactArray(claim?.owned ?? null, ({ topicId, partitions }) => {
          writer.raw(Buffer.from(topicId, 'hex'));
          writer.compactArray(partitions, (partition) => writer.int32(partition)).noTags();
        })
        .noTags();
    },
    read(reader) {
      reader.int32();
      const errorCode = reader.int16();
      const message = reader.compactNullableString();
      reader.compactNullableString();
      const [epochNow, intervalMs] = [reader.int32(), reader.int32()];
      if (reader.int8() < 0)
        return { errorCode, message, epoch: epochNow, intervalMs, assignment: null };
      const assignment = reader.compactArray(() => {
        const topicId = reader.uuid() ?? '';
        const partitions = reader.compactArray(() => reader.int32());
        reader.skipTags();
        return { topicId, partitions };
      });
      return { errorCode, message, epoch: epochNow, intervalMs, assignment };
    },
  });
}
