import { UnreadableValueError } from './unreadable-value-error.js';

const MAGIC = 0;
const HEADER_LENGTH = 5;

/**
 * Splits a value in Confluent's wire format: a zero byte, the schema id in four bytes, and the
 * body.
 */
export function readWireFormat(bytes: Buffer): {
  readonly schemaId: number;
  readonly body: Buffer;
} {
  if (bytes.length < HEADER_LENGTH || bytes[0] !== MAGIC) {
    throw new UnreadableValueError('it does not begin with a zero byte and the id of a schema');
  }
  const schemaId = bytes.readInt32BE(1);
  if (schemaId < 0) throw new UnreadableValueError('the id of its schema is below zero');
  return { schemaId, body: bytes.subarray(HEADER_LENGTH) };
}

export function writeWireFormat(schemaId: number, body: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_LENGTH);
  header.writeInt32BE(schemaId, 1);
  return Buffer.concat([header, body]);
}
