import { MalformedResponseError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import { FieldReader } from './field-reader.js';
import { FieldWriter } from './field-writer.js';
import {
  byTopic,
  compareText,
  readTopicPartitions,
  writeTopicPartitions,
} from './topic-partitions.js';

/*
 * The messages that members of a group exchange through the broker, which does not read them.
 *
 *   Subscription: version i16, topics [s], userData B? | 1: owned [s, [i32]] | 2: generation i32 | 3: rack s?
 *   Assignment:   version i16, [s, [i32]], userData B?
 *
 * A newer version only appends fields, so bytes after the known fields are skipped.
 */

const VERSION = 3;

/** The generation of a member without any assignment so far. */
export const NO_GENERATION = -1;

export interface Subscription {
  readonly topics: readonly string[];
  /** Assignor-specific data; see `Assignor.userData`. */
  readonly userData: Buffer | null;
  /**
   * Partitions that the member keeps reading while it joins. Empty for members that revoke
   * everything first.
   */
  readonly owned: readonly TopicPartition[];
  /** The generation in which `owned` was assigned; `NO_GENERATION` when there is none. */
  readonly generation: number;
  readonly rack: string | null;
}

/** Encodes the member's metadata for JoinGroup. Equal subscriptions give equal bytes. */
export function encodeSubscription(subscription: Subscription): Buffer {
  const writer = new FieldWriter();
  writer.int16(VERSION);
  writer.list([...new Set(subscription.topics)].sort(compareText), (topic) => writer.string(topic));
  writer.nullableBytes(subscription.userData);
  writeTopicPartitions(writer, subscription.owned);
  writer.int32(subscription.generation);
  writer.nullableString(subscription.rack);
  return writer.toBuffer();
}

/** Decodes a subscription. Throws only MalformedResponseError. */
export function decodeSubscription(bytes: Buffer): Subscription {
  return decodeWithSubject('subscription of a group member', () => {
    const reader = new FieldReader(bytes);
    const version = readVersion(reader);
    const topics = reader.list(() => reader.string());
    const userData = readIfPresent(reader, true, () => reader.nullableBytes(), null);
    const owned = readIfPresent(reader, version >= 1, () => readTopicPartitions(reader), []);
    const generation = readIfPresent(reader, version >= 2, () => reader.int32(), NO_GENERATION);
    const rack = readIfPresent(reader, version >= 3, () => reader.nullableString(), null);
    return { topics: [...new Set(topics)], userData, owned, generation, rack };
  });
}

/** Encodes the assignment of one member for SyncGroup. */
export function encodeAssignment(partitions: readonly TopicPartition[]): Buffer {
  const writer = new FieldWriter();
  writer.int16(VERSION);
  writeTopicPartitions(writer, partitions);
  writer.nullableBytes(null);
  return writer.toBuffer();
}

/**
 * Decodes the response of SyncGroup; each partition occurs once. A broker sends zero bytes to a
 * member that is not in the leader's plan: no partitions are assigned. Throws only
 * MalformedResponseError.
 */
export function decodeAssignment(bytes: Buffer): TopicPartition[] {
  if (bytes.length === 0) return [];
  return decodeWithSubject('assignment from the group leader', () => {
    const reader = new FieldReader(bytes);
    readVersion(reader);
    const partitions = [...byTopic(readTopicPartitions(reader))].flatMap(([topic, numbers]) =>
      [...numbers].map((partition): TopicPartition => ({ topic, partition })),
    );
    const negative = partitions.find(({ partition }) => partition < 0);
    if (negative !== undefined)
      throw new MalformedResponseError(
        `It has partition ${negative.partition} of topic "${negative.topic}".`,
      );
    return partitions;
  });
}

function decodeWithSubject<T>(subject: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof MalformedResponseError)) throw error;
    throw new MalformedResponseError(
      `The ${subject} cannot be read: ${error.message} Look for a member of this group that is not a Kafka consumer, or whose assignor writes a format of its own.`,
      { cause: error },
    );
  }
}

function readVersion(reader: FieldReader): number {
  const version = reader.int16();
  if (version < 0) throw new MalformedResponseError(`It has the version ${version}.`);
  return version;
}

/**
 * Accepts missing fields at the end, because some clients send a version without the fields that it
 * added.
 */
function readIfPresent<T>(reader: FieldReader, known: boolean, read: () => T, otherwise: T): T {
  return known && !reader.atEnd ? read() : otherwise;
}
