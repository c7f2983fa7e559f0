import type { NewTopic } from '../../port/admin.js';
import type { TopicPartition } from '../../port/record.js';
import { ownRequest, type ApiRequest } from './api-request.js';
import { byTopic } from './by-topic.js';
import type { PartitionCode } from './offset-requests.js';
import type { Reader } from './reader.js';

/*
 * The versions are the newest before compact types, each offered by every broker from 2.8 on.
 * kafkajs has encodings for some of these, but loses the broker's own words or null values.
 */

export interface TopicCode {
  readonly name: string;
  readonly code: number;
  /** The broker's own words. */
  readonly message: string | null;
}

const TOPIC_RESOURCE = 2;
const GROUP_RESOURCE = 32;
const SET = 0;
const DELETE = 1;
/** What the broker takes for "your default". */
const BROKER_DEFAULT = -1;

export function createTopicsRequest(
  topics: readonly NewTopic[],
  timeoutMs: number,
): ApiRequest<readonly TopicCode[]> {
  return ownRequest({
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
  return ownRequest({
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
  return ownRequest({
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

export interface TopicConfigAnswer extends TopicCode {
  readonly entries: readonly (readonly [name: string, value: string | null])[];
}

export const describeTopicConfigRequest = (topic: string): ApiRequest<TopicConfigAnswer[]> =>
  describeConfigRequest(TOPIC_RESOURCE, topic);

/** Of a group by KIP-848. Any broker can tell. */
export const describeGroupConfigRequest = (groupId: string): ApiRequest<TopicConfigAnswer[]> =>
  describeConfigRequest(GROUP_RESOURCE, groupId);

function describeConfigRequest(type: number, resource: string): ApiRequest<TopicConfigAnswer[]> {
  return ownRequest({
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
  return ownRequest({
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
  /** -1 where nothing could be deleted. */
  readonly low: number;
}

export function deleteRecordsRequest(
  partitions: readonly (TopicPartition & { readonly offset: number })[],
  timeoutMs: number,
): ApiRequest<readonly DeletedRecords[]> {
  return ownRequest({
    apiKey: 21,
    apiName: 'DeleteRecords',
    versions: [1],
    write(writer) {
      writer.array(byTopic(partitions), ([topic, those]) => {
        writer.string(topic).array(those, ({ partition, offset }) => {
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
  // Read-only, where the value comes from, sensitive.
  reader.raw(3);
  reader.array(() => [reader.string(), reader.nullableString(), reader.int8()]);
  return entry;
}
