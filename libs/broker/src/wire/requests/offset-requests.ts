import type { CommittedOffset, Isolation, OffsetCommit } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import { defineRequest, type ApiRequest } from './api-request.js';
import type { MemberIdentity } from './group-requests.js';
import { byTopic } from './by-topic.js';
import type { Reader } from './reader.js';
import type { Writer } from './writer.js';

export interface PartitionCode extends TopicPartition {
  readonly code: number;
}

/**
 * Commits offsets. Version 7 contains the leader epoch and the static member id. Version 9 is for
 * members of the consumer protocol (KIP-848). Versions since 8 use compact types.
 */
export function offsetCommitRequest(
  { groupId, generation, memberId, groupInstanceId = null, protocol }: MemberIdentity,
  offsets: readonly OffsetCommit[],
): ApiRequest<readonly PartitionCode[]> {
  const member = { groupId, generation, memberId, groupInstanceId };
  const common = { apiKey: 8, apiName: 'OffsetCommit' };
  if (protocol !== 'consumer')
    return defineRequest({
      ...common,
      versions: [7],
      write: (writer) => writeCommit(writer, member, offsets),
      read: readPlainPartitionCodes,
    });
  return defineRequest({
    ...common,
    versions: [9],
    flexibleFrom: 8,
    write: (writer) => writeCompactCommit(writer, member, offsets),
    read: readPartitionCodes,
  });
}

type CommittingMember = Required<Omit<MemberIdentity, 'protocol'>>;

function writeCommit(
  writer: Writer,
  { groupId, generation, memberId, groupInstanceId }: CommittingMember,
  offsets: readonly OffsetCommit[],
): void {
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
}

function writeCompactCommit(
  writer: Writer,
  { groupId, generation, memberId, groupInstanceId }: CommittingMember,
  offsets: readonly OffsetCommit[],
): void {
  writer.compactString(groupId).int32(generation).compactString(memberId);
  writer.compactNullableString(groupInstanceId);
  writeOffsets(writer, offsets);
  writer.noTags();
}

/** Writes offsets in the format of OffsetCommit since version 8 and of TxnOffsetCommit. */
export function writeOffsets(writer: Writer, offsets: readonly OffsetCommit[]): void {
  writer.compactArray(byTopic(offsets), ([topic, items]) => {
    writer.compactString(topic);
    writer
      .compactArray(items, ({ partition, offset, leaderEpoch, metadata }) => {
        writer
          .int32(partition)
          .int64(offset)
          .int32(leaderEpoch ?? -1);
        writer.compactNullableString(metadata ?? null).noTags();
      })
      .noTags();
  });
}

function readPlainPartitionCodes(reader: Reader): readonly PartitionCode[] {
  reader.int32();
  return reader
    .array(() => {
      const topic = reader.string();
      return reader.array(() => ({ topic, partition: reader.int32(), code: reader.int16() }));
    })
    .flat();
}

export function readPartitionCodes(reader: Reader): readonly PartitionCode[] {
  reader.int32();
  return reader
    .compactArray(() => {
      const topic = reader.compactString();
      const items = reader.compactArray(() => {
        const partition = reader.int32();
        const code = reader.int16();
        reader.skipTags();
        return { topic, partition, code };
      });
      reader.skipTags();
      return items;
    })
    .flat();
}

export interface FetchedOffset extends PartitionCode {
  /** The committed offset; null if the group has none. */
  readonly committed: CommittedOffset | null;
}

export interface OffsetFetchResponse {
  readonly code: number;
  readonly offsets: readonly FetchedOffset[];
}

export interface OffsetFetchOptions {
  readonly stable?: boolean;
  /**
   * The member of the consumer protocol (KIP-848). A broker returns no offsets to a member with an
   * outdated epoch.
   */
  readonly member?: { readonly memberId: string; readonly epoch: number };
}

/**
 * Version 7 can request stable offsets. If an open transaction is about to change an offset, the
 * broker then answers UNSTABLE_OFFSET_COMMIT. A start at the old offset would read records twice.
 * Version 9 contains the member with its epoch, and supports several groups.
 */
export function offsetFetchRequest(
  groupId: string,
  partitions: readonly TopicPartition[] | 'all',
  { stable = true, member }: OffsetFetchOptions = {},
): ApiRequest<OffsetFetchResponse> {
  const topics = partitions === 'all' ? null : byTopic(partitions);
  return defineRequest({
    apiKey: 9,
    apiName: 'OffsetFetch',
    versions: [member ? 9 : 7],
    flexibleFrom: 6,
    write(writer) {
      if (member) writer.unsignedVarint(ONE_ITEM);
      writer.compactString(groupId);
      if (member) writer.compactNullableString(member.memberId).int32(member.epoch);
      writer.compactArray(topics, ([topic, items]) => {
        writer.compactString(topic);
        writer.compactArray(items, ({ partition }) => writer.int32(partition)).noTags();
      });
      if (member) writer.noTags();
      writer.boolean(stable).noTags();
    },
    read(reader) {
      reader.int32();
      if (!member) return readGroupOffsets(reader);
      const [answer] = reader.compactArray(() => {
        reader.compactString();
        return readGroupOffsets(reader);
      });
      return answer ?? { code: -1, offsets: [] };
    },
  });
}

/** The length of a compact array is encoded as length plus one. */
const ONE_ITEM = 2;

function readGroupOffsets(reader: Reader): OffsetFetchResponse {
  const offsets = reader.compactArray(() => {
    const topic = reader.compactString();
    const items = reader.compactArray(() => {
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
    return items;
  });
  const code = reader.int16();
  reader.skipTags();
  return { code, offsets: offsets.flat() };
}

export const LATEST = -1;
export const EARLIEST = -2;

export interface ListedOffset extends PartitionCode {
  /** The offset; -1 if no record has this timestamp or a later one. */
  readonly offset: number;
  readonly timestamp: number;
  readonly leaderEpoch: number;
}

/**
 * Finds offsets by timestamp. Version 5 contains leader epochs. With read_committed, LATEST is the
 * last stable offset.
 */
export function listOffsetsRequest(
  isolation: Isolation,
  partitions: readonly (TopicPartition & { readonly timestamp: number })[],
): ApiRequest<readonly ListedOffset[]> {
  return defineRequest({
    apiKey: 2,
    apiName: 'ListOffsets',
    versions: [5],
    write(writer) {
      writer.int32(-1).int8(isolationByte(isolation));
      writer.array(byTopic(partitions), ([topic, items]) => {
        writer.string(topic).array(items, ({ partition, timestamp }) => {
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
  /** The end offset of the epoch; -1 if the leader does not know the epoch. */
  readonly endOffset: number;
  readonly leaderEpoch: number;
}

/**
 * Returns where the epoch ends in the leader's log. If this end is below the position of the
 * consumer, the log was truncated.
 */
export function epochEndRequest(
  partitions: readonly (TopicPartition & {
    readonly currentEpoch: number;
    readonly epoch: number;
  })[],
): ApiRequest<readonly EpochEnd[]> {
  return defineRequest({
    apiKey: 23,
    apiName: 'OffsetForLeaderEpoch',
    versions: [3],
    write(writer) {
      writer.int32(-1);
      writer.array(byTopic(partitions), ([topic, items]) => {
        writer.string(topic).array(items, ({ partition, currentEpoch, epoch }) => {
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
