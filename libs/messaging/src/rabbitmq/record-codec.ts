import {
  InvalidOptionError,
  type OutgoingHeader,
  type OutgoingRecord,
} from '@nest-event-bus/broker';
import type { Options } from 'amqplib';

/** Headers in which a message carries what AMQP has no property for. */
export const RECORD_HEADERS = Object.freeze({
  key: 'x-record-key',
  timestamp: 'x-record-timestamp',
  /** Present if the value of the record is null, which AMQP cannot tell from an empty one. */
  tombstone: 'x-record-tombstone',
} as const);

/** RabbitMQ takes these headers for further routing keys. */
const ROUTING_HEADERS: ReadonlySet<string> = new Set(['CC', 'BCC']);

const MAX_NAME_BYTES = 255;

export interface AmqpMessage {
  readonly content: Buffer;
  readonly headers: NonNullable<Options.Publish['headers']>;
  /** Seconds since 1970, as AMQP has them. */
  readonly timestamp: number;
  readonly sizeInBytes: number;
}

/** Creates the message of a record. Throws for a header that RabbitMQ would misunderstand. */
export function amqpMessage(record: OutgoingRecord, timestamp: number): AmqpMessage {
  const { key, value } = record;
  const content = value === null ? Buffer.alloc(0) : bytesOf(value);
  const headers: Record<string, unknown> = {};
  let sizeInBytes = content.length;
  for (const header of record.headers ?? []) {
    checkName(header);
    headers[header.key] = withValue(headers[header.key], fieldOf(header.value));
    sizeInBytes += Buffer.byteLength(header.key) + sizeOf(header.value);
  }
  headers[RECORD_HEADERS.timestamp] = String(timestamp);
  if (key !== undefined && key !== null) headers[RECORD_HEADERS.key] = fieldOf(key);
  if (value === null) headers[RECORD_HEADERS.tombstone] = true;
  return {
    content,
    headers,
    timestamp: Math.floor(timestamp / 1_000),
    sizeInBytes: sizeInBytes + sizeOf(key),
  };
}

function checkName({ key, keyBytes }: OutgoingHeader): void {
  if (ROUTING_HEADERS.has(key))
    throw new InvalidOptionError(
      `RabbitMQ takes a header "${key}" for a routing key. Give the header another name.`,
    );
  if (keyBytes !== undefined)
    throw new InvalidOptionError('RabbitMQ has no headers whose names are not UTF-8. Rename it.');
  if (Buffer.byteLength(key) > MAX_NAME_BYTES)
    throw new InvalidOptionError(
      `A header name of more than ${MAX_NAME_BYTES} bytes does not fit into AMQP. Shorten it.`,
    );
}

/** Several headers of one name become an array. */
function withValue(known: unknown, value: unknown): unknown {
  if (known === undefined) return value;
  return Array.isArray(known) ? [...(known as unknown[]), value] : [known, value];
}

const sizeOf = (value: Buffer | string | null | undefined): number =>
  typeof value === 'string' ? Buffer.byteLength(value) : (value?.length ?? 0);

const bytesOf = (value: Buffer | string): Buffer =>
  typeof value === 'string' ? Buffer.from(value) : value;

/** Text stays text for other clients. Bytes that are no UTF-8 stay bytes. */
function fieldOf(value: Buffer | string | null): unknown {
  if (value === null || typeof value === 'string') return value;
  const text = value.toString();
  return Buffer.from(text).equals(value) ? text : value;
}
