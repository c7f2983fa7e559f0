import { ownRequest, type ApiRequest } from './api-request.js';

/** Partitions of a topic by its id: the broker shares out topics, not names. */
export interface TopicShare {
  readonly topicId: string;
  readonly partitions: readonly number[];
}

export interface ConsumerMember {
  readonly groupId: string;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
}

/** All that a member has to say. The answer to it has the whole assignment, which the answer to less may leave out. */
export interface ConsumerClaim {
  readonly topics: readonly string[];
  readonly rebalanceTimeoutMs: number;
  readonly owned: readonly TopicShare[];
}

export interface ConsumerHeartbeatAnswer {
  readonly errorCode: number;
  readonly message: string | null;
  readonly epoch: number;
  readonly intervalMs: number;
  /** null where it has not changed. */
  readonly assignment: readonly TopicShare[] | null;
}

export const JOINING_EPOCH = 0;
/** For good; its partitions are shared out at once. */
const LEAVING_EPOCH = -1;
/** A static member that may come back, within the session time-out. */
const AWAY_EPOCH = -2;

/** Join, heartbeat and acknowledgement in one (KIP-848). Version 1 lets the member choose its own id. */
export function consumerHeartbeatRequest(
  member: ConsumerMember,
  epoch: number,
  claim: ConsumerClaim,
): ApiRequest<ConsumerHeartbeatAnswer> {
  return heartbeat(member, epoch, claim);
}

export function consumerLeaveRequest(member: ConsumerMember): ApiRequest<ConsumerHeartbeatAnswer> {
  return heartbeat(member, member.groupInstanceId === null ? LEAVING_EPOCH : AWAY_EPOCH, null);
}

function heartbeat(
  { groupId, memberId, groupInstanceId }: ConsumerMember,
  epoch: number,
  claim: ConsumerClaim | null,
): ApiRequest<ConsumerHeartbeatAnswer> {
  return ownRequest({
    apiKey: 68,
    apiName: 'ConsumerGroupHeartbeat',
    versions: [1],
    flexibleFrom: 0,
    write(writer) {
      writer.compactString(groupId).compactString(memberId).int32(epoch);
      // No rack; further down no pattern and no assignor: the broker's own choice.
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
