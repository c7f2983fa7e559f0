import type { Isolation } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import { defineRequest, type ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import { isolationByte } from './offset-requests.js';
import type { Reader } from './reader.js';
import type { Writer } from './writer.js';

export interface FetchPosition extends TopicPartition {
  /** The topic id, used if it is known, because a recreated topic has another id. */
  readonly topicId: string | null;
  readonly offset: number;
  readonly leaderEpoch: number;
  readonly maxBytes: number;
}

export interface FetchParameters {
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly isolation: Isolation;
  /** The rack of this client, for which a leader may name a nearer replica (KIP-392). */
  readonly rackId?: string;
  readonly partitions: readonly FetchPosition[];
}

export interface FetchedPartition extends TopicPartition {
  readonly code: number;
  readonly highWatermark: number;
  readonly lastStableOffset: number;
  readonly logStartOffset: number;
  /**
   * The replica that the leader names for the next fetch; -1 if none. A response with a preferred
   * replica has no records.
   */
  readonly preferredReplica: number;
  readonly aborted: readonly { readonly producerId: bigint; readonly firstOffset: number }[];
  /** The records as a view of the response. */
  readonly records: Buffer | null;
}

export interface FetchResponse {
  readonly code: number;
  readonly partitions: readonly FetchedPartition[];
}

/** Fetch sessions are not used, so a paused partition is simply left out of the next request. */
const NO_SESSION = { id: 0, epoch: -1 };
const BY_TOPIC_ID = 13;

/**
 * Version 13 names topics by id, so that a recreated topic is not read from the middle. Version 11
 * names topics by name, for brokers and topics without ids.
 */
export function fetchRequest(fetch: FetchParameters): ApiRequest<FetchResponse> {
  const identified = fetch.partitions.every(({ topicId }) => topicId !== null);
  return defineRequest({
    apiKey: 1,
    apiName: 'Fetch',
    versions: identified ? [11, BY_TOPIC_ID] : [11],
    flexibleFrom: 12,
    write: (writer, version) =>
      version >= BY_TOPIC_ID ? writeById(writer, fetch) : writeByName(writer, fetch),
    read: (reader, version) =>
      version >= BY_TOPIC_ID ? readById(reader, namesOf(fetch)) : readByName(reader),
  });
}

function writeHead(writer: Writer, fetch: FetchParameters): void {
  // The replica id -1 means a client.
  writer
    .int32(-1)
    .int32(fetch.maxWaitMs)
    .int32(fetch.minBytes)
    .int32(fetch.maxBytes)
    .int8(isolationByte(fetch.isolation))
    .int32(NO_SESSION.id)
    .int32(NO_SESSION.epoch);
}

function writeByName(writer: Writer, fetch: FetchParameters): void {
  writeHead(writer, fetch);
  writer.array(byTopic(fetch.partitions), ([topic, partitions]) => {
    writer.string(topic).array(partitions, (position) => {
      writer
        .int32(position.partition)
        .int32(position.leaderEpoch)
        .int64(position.offset)
        .int64(-1)
        .int32(position.maxBytes);
    });
  });
  writer.int32(0).string(fetch.rackId ?? '');
}

function writeById(writer: Writer, fetch: FetchParameters): void {
  writeHead(writer, fetch);
  writer.compactArray(byTopic(fetch.partitions), ([, partitions]) => {
    writer.raw(Buffer.from(partitions[0]?.topicId ?? '', 'hex'));
    writer.compactArray(partitions, (position) => {
      writer
        .int32(position.partition)
        .int32(position.leaderEpoch)
        .int64(position.offset)
        .int32(-1)
        .int64(-1)
        .int32(position.maxBytes)
        .noTags();
    });
    writer.noTags();
  });
  writer
    .compactArray([], () => undefined)
    .compactString(fetch.rackId ?? '')
    .noTags();
}

function readByName(reader: Reader): FetchResponse {
  reader.int32();
  const code = reader.int16();
  reader.int32();
  const partitions = reader.array(() => {
    const topic = reader.string();
    return reader.array(() => {
      const head = readPartitionHead(reader);
      const aborted = reader.array(() => readAborted(reader));
      const preferredReplica = reader.int32();
      return { topic, ...head, aborted, preferredReplica, records: reader.nullableBytes() };
    });
  });
  return { code, partitions: partitions.flat() };
}

function readById(reader: Reader, names: ReadonlyMap<string | null, string>): FetchResponse {
  reader.int32();
  const code = reader.int16();
  reader.int32();
  const partitions = reader.compactArray(() => {
    const topic = names.get(reader.uuid()) ?? '';
    const items = reader.compactArray(() => {
      const head = readPartitionHead(reader);
      const aborted = reader.compactArray(() => {
        const transaction = readAborted(reader);
        reader.skipTags();
        return transaction;
      });
      const preferredReplica = reader.int32();
      const records = reader.compactNullableBytes();
      reader.skipTags();
      return { topic, ...head, aborted, preferredReplica, records };
    });
    reader.skipTags();
    return items;
  });
  reader.skipTags();
  return { code, partitions: partitions.flat() };
}

function readPartitionHead(reader: Reader) {
  return {
    partition: reader.int32(),
    code: reader.int16(),
    highWatermark: reader.int64(),
    lastStableOffset: reader.int64(),
    logStartOffset: reader.int64(),
  };
}

function readAborted(reader: Reader) {
  return { producerId: reader.bigint64(), firstOffset: reader.int64() };
}

function namesOf({ partitions }: FetchParameters): ReadonlyMap<string | null, string> {
  return new Map(partitions.map(({ topicId, topic }) => [topicId, topic]));
}
