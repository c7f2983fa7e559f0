import { MalformedResponseError } from '../../port/errors.js';
import type { PreviousAssignment } from '../assignor.js';
import { NO_GENERATION } from './consumer-protocol.js';
import { FieldReader } from './field-reader.js';
import { FieldWriter } from './field-writer.js';
import { readTopicPartitions, writeTopicPartitions } from './topic-partitions.js';

/**
 * Encodes in the format of Java's StickyAssignor: previous assignment [topic s, [i32]], generation
 * i32.
 */
export function encodeStickyUserData(previous: PreviousAssignment | null): Buffer | null {
  if (previous === null) return null;
  const writer = new FieldWriter();
  writeTopicPartitions(writer, previous.partitions);
  writer.int32(previous.generation);
  return writer.toBuffer();
}

/**
 * Returns null if the member had no assignment, or if the bytes are invalid: the member then only
 * loses its claim. Clients before Kafka 2.3 write no generation.
 */
export function decodeStickyUserData(bytes: Buffer | null): PreviousAssignment | null {
  if (bytes === null) return null;
  try {
    const reader = new FieldReader(bytes);
    const partitions = readTopicPartitions(reader);
    return { partitions, generation: reader.atEnd ? NO_GENERATION : reader.int32() };
  } catch (error) {
    if (error instanceof MalformedResponseError) return null;
    throw error;
  }
}
