import type { NewTopic } from '../../port/admin.js';
import type { TopicPartition } from '../../port/record.js';
import { defineRequest, type ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import type { PartitionCode } from './offset-requests.js';
import type { Reader } from './reader.js';

/*
 * The requests use the last versions without compact types, which every broker since Kafka 2.8
 * supports. kafkajs encodes some of these requests as well, but loses the broker's error messages
 * or null values.
 */

export interface TopicCode {
  readonly name: string;
  readonly code: number;
  /** The error message of the broker. */
  readonly message: string | null;
}

const TOPIC_RESOURCE = 2;
const GROUP_RESOURCE = 32;
const SET = 0;
const DELETE = 1;
/** Means "use the broker's default" for partitions and replication factor. */
const BROKER_DEFAULT = -1;

export function createTopicsRequest(
  topics: readonly NewTopic[],
  timeoutMs: number,
): ApiRequest<readonly TopicCode[]> {
  return defineRequest({
    apiKey: 19,
    apiName: 'CreateTopics',
    versions: [4],
    write(writer) {
      writer.array(topics, ({ name, partitions, replicationFactor, config = {} }) => {
        writer
          .string(name)
          .int32(partitions ?? BROKER_DEFAULT)
          .int16(replicationFactor ?? BROKER_DEFAULT)
          .int32(0)
          .array(Object.entries(config), ([entry, value]) => {
            writer.string(entry).string(value);
          });
      });
      writer.int32(timeoutMs).boolean(false);
    },
    read: readTopicCodes,
  });
}

export function createPartitionsRequest(
  topic: string,
  total: number,
  timeoutMs: number,
): ApiRequest<readonly TopicCode[]> {
  return defineRequest({
    apiKey: 37,
    apiName: 'CreatePartitions',
    versions: [1],
    write(writer) {
      writer.array([topic], (name) => writer.string(name).int32(total).int32(-1));
      writer.int32(timeoutMs).boolean(false);
    },
    read: readTopicCodes,
  });
}

export function deleteTopicsRequest(
  names: readonly string[],
  timeoutMs: number,
): ApiRequest<readonly TopicCode[]> {
  return defineRequest({
    apiKey: 20,
    apiName: 'DeleteTopics',
    versions: [3],
    write(writer) {
      writer.array(names, (name) => writer.string(name)).int32(timeoutMs);
    },
    read(reader) {
      reader.int32();
      return reader.array(() => ({
        name: reader.string(),
        code: reader.int16(),
        message: null,
      }));
    },
  });
}

export interface TopicConfigResponse extends TopicCode {
  readonly entries: readonly (readonly [name: string, value: string | null])[];
}

export const describeTopicConfigRequest = (topic: string): ApiRequest<TopicConfigResponse[]> =>
  describeConfigRequest(TOPIC_RESOURCE, topic);

/** Reads the configuration of a group of the consumer protocol (KIP-848). Any broker can answer. */
export const describeGroupConfigRequest = (groupId: string): ApiRequest<TopicConfigResponse[]> =>
  describeConfigRequest(GROUP_RESOURCE, groupId);

function describeConfigRequest(type: number, resource: string): ApiRequest<TopicConfigResponse[]> {
  return defineRequest({
    apiKey: 32,
    apiName: 'DescribeConfigs',
    versions: [1],
    write(writer) {
      writer.array([resource], (name) => writer.int8(type).string(name).int32(-1));
      writer.boolean(false);
    },
    read(reader) {
      reader.int32();
      return reader.array(() => ({
        ...readResourceCode(reader),
        entries: reader.array(() => readConfigEntry(reader)),
      }));
    },
  });
}

export function alterTopicConfigRequest(
  topic: string,
  changes: Readonly<Record<string, string | null>>,
): ApiRequest<readonly TopicCode[]> {
  return defineRequest({
    apiKey: 44,
    apiName: 'IncrementalAlterConfigs',
    versions: [0],
    write(writer) {
      writer.array([topic], (name) => {
        writer.int8(TOPIC_RESOURCE).string(name);
        writer.array(Object.entries(changes), ([entry, value]) => {
          writer
            .string(entry)
            .int8(value === null ? DELETE : SET)
            .nullableString(value);
        });
      });
      writer.boolean(false);
    },
    read(reader) {
      reader.int32();
      return reader.array(() => readResourceCode(reader));
    },
  });
}

export interface DeletedRecords extends PartitionCode {
  /** The new start offset of the log, or -1 if the deletion failed. */
  readonly low: number;
}

export function deleteRecordsRequest(
  partitions: readonly (TopicPartition & { readonly offset: number })[],
  timeoutMs: number,
): ApiRequest<readonly DeletedRecords[]> {
  return defineRequest({
    apiKey: 21,
    apiName: 'DeleteRecords',
    versions: [1],
    write(writer) {
      writer.array(byTopic(partitions), ([topic, items]) => {
        writer.string(topic).array(items, ({ partition, offset }) => {
          writer.int32(partition).int64(offset);
        });
      });
      writer.int32(timeoutMs);
    },
    read(reader) {
      reader.int32();
      return reader
        .array(() => {
          const topic = reader.string();
          return reader.array(() => ({
            topic,
            partition: reader.int32(),
            low: reader.int64(),
            code: reader.int16(),
          }));
        })
        .flat();
    },
  });
}

function readTopicCodes(reader: Reader): TopicCode[] {
  reader.int32();
  return reader.array(() => ({
    name: reader.string(),
    code: reader.int16(),
    message: reader.nullableString(),
  }));
}

function readResourceCode(reader: Reader): TopicCode {
  const code = reader.int16();
  const message = reader.nullableString();
  reader.int8();
  return { code, message, name: reader.string() };
}

function readConfigEntry(reader: Reader): readonly [name: string, value: string | null] {
  const entry = [reader.string(), reader.nullableString()] as const;
  // Skips three flags: read-only, source and sensitive.
  reader.raw(3);
  reader.array(() => [reader.string(), reader.nullableString(), reader.int8()]);
  return entry;
}
