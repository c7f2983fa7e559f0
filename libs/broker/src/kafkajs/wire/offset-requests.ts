import type { CommittedOffset, Isolation, OffsetCommit } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import { ownRequest, type ApiRequest } from './api-request.js';
import type { MemberIdentity } from './group-requests.js';
import { byTopic } from './by-topic.js';

export interface PartitionCode extends TopicPartition {
  readonly code: number;
}

/** Version 7 has the leader epoch and the static id. */
export function offsetCommitRequest(
  { groupId, generation, memberId, groupInstanceId = null }: MemberIdentity,
  offsets: readonly OffsetCommit[],
): ApiRequest<readonly PartitionCode[]> {
  return ownRequest({
    apiKey: 8,
    apiName: 'OffsetCommit',
    versions: [7],
    write(writer) {
      writer.string(groupId).int32(generation).string(memberId).nullableString(groupInstanceId);
      writer.array(byTopic(offsets), ([topic, partitions]) => {
        writer.string(topic).array(partitions, (commit) => {
          writer
            .int32(commit.partition)
            .int64(commit.offset)
            .int32(commit.leaderEpoch ?? -1)
            .nullableString(commit.metadata ?? null);
        });
      });
    },
    read(reader) {
      reader.int32();
      return reader
        .array(() => {
          const topic = reader.string();
          return reader.array(() => ({ topic, partition: reader.int32(), code: reader.int16() }));
        })
        .flat();
    },
  });
}

export interface FetchedOffset extends PartitionCode {
  /** null where the group has none. */
  readonly committed: CommittedOffset | null;
}

export interface OffsetFetchAnswer {
  readonly code: number;
  readonly offsets: readonly FetchedOffset[];
}

/**
 * Version 7 can ask for stable offsets only: one that a transaction is about to change is then
 * answered with UNSTABLE_OFFSET_COMMIT instead of its old value, which would be read again.
 */
export function offsetFetchRequest(
  groupId: string,
  partitions: readonly TopicPartition[] | 'all',
  { stable = true }: { readonly stable?: boolean } = {},
): ApiRequest<OffsetFetchAnswer> {
  return ownRequest({
    apiKey: 9,
    apiName: 'OffsetFetch',
    versions: [7],
    flexibleFrom: 6,
    write(writer) {
      writer.compactString(groupId);
      writer.compactArray(partitions === 'all' ? null : byTopic(partitions), ([topic, those]) => {
        writer.compactString(topic);
        writer.compactArray(those, ({ partition }) => writer.int32(partition)).noTags();
      });
      writer.boolean(stable).noTags();
    },
    read(reader) {
      reader.int32();
      const offsets = reader.compactArray(() => {
        const topic = reader.compactString();
        const those = reader.compactArray(() => {
          const partition = reader.int32();
          const offset = reader.int64();
          const leaderEpoch = reader.int32();
          const metadata = reader.compactNullableString();
          const code = reader.int16();
          reader.skipTags();
          const committed = offset < 0 ? null : { offset, leaderEpoch, metadata };
          return { topic, partition, code, committed };
        });
        reader.skipTags();
        return those;
      });
      const code = reader.int16();
      reader.skipTags();
      return { code, offsets: offsets.flat() };
    },
  });
}

export const LATEST = -1;
export const EARLIEST = -2;

export interface ListedOffset extends PartitionCode {
  /** -1 where no record is that young. */
  readonly offset: number;
  readonly timestamp: number;
  readonly leaderEpoch: number;
}

/** Version 5 has leader epochs. Under read_committed, latest is the last stable offset. */
export function listOffsetsRequest(
  isolation: Isolation,
  partitions: readonly (TopicPartition & { readonly timestamp: number })[],
): ApiRequest<readonly ListedOffset[]> {
  return ownRequest({
    apiKey: 2,
    apiName: 'ListOffsets',
    versions: [5],
    write(writer) {
      writer.int32(-1).int8(isolationByte(isolation));
      writer.array(byTopic(partitions), ([topic, those]) => {
        writer.string(topic).array(those, ({ partition, timestamp }) => {
          writer.int32(partition).int32(-1).int64(timestamp);
        });
      });
    },
    read(reader) {
      reader.int32();
      return reader
        .array(() => {
          const topic = reader.string();
          return reader.array(() => ({
            topic,
            partition: reader.int32(),
            code: reader.int16(),
            timestamp: reader.int64(),
            offset: reader.int64(),
            leaderEpoch: reader.int32(),
          }));
        })
        .flat();
    },
  });
}

export interface EpochEnd extends PartitionCode {
  /** -1 where the leader does not know the epoch. */
  readonly endOffset: number;
  readonly leaderEpoch: number;
}

/** Where the epoch ended in the leader's log: before our position means that the log was cut back. */
export function epochEndRequest(
  partitions: readonly (TopicPartition & {
    readonly currentEpoch: number;
    readonly epoch: number;
  })[],
): ApiRequest<readonly EpochEnd[]> {
  return ownRequest({
    apiKey: 23,
    apiName: 'OffsetForLeaderEpoch',
    versions: [3],
    write(writer) {
      writer.int32(-1);
      writer.array(byTopic(partitions), ([topic, those]) => {
        writer.string(topic).array(those, ({ partition, currentEpoch, epoch }) => {
          writer.int32(partition).int32(currentEpoch).int32(epoch);
        });
      });
    },
    read(reader) {
      reader.int32();
      return reader
        .array(() => {
          const topic = reader.string();
          return reader.array(() => ({
            topic,
            code: reader.int16(),
            partition: reader.int32(),
            leaderEpoch: reader.int32(),
            endOffset: reader.int64(),
          }));
        })
        .flat();
    },
  });
}

export function isolationByte(isolation: Isolation): number {
  return isolation === 'read_committed' ? 1 : 0;
}
