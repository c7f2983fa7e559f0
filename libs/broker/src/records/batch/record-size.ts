import type { OutgoingHeader } from '../../port/record.js';
import { BATCH } from './batch-layout.js';
import { sizeOfVarint, sizeOfVarlong } from '../bytes.js';

/** The content of a record to be written. Strings become UTF-8; a missing key is null. */
export interface RecordContent {
  readonly key?: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: readonly OutgoingHeader[];
}

/** The size of a batch without records. */
export const BATCH_OVERHEAD = BATCH.records;

type Part = Buffer | string | null | undefined;

/** The maximum sizes of length, attributes, timestamp delta, offset delta and header count. */
const LONGEST_FRAMING = 5 + 1 + 8 + 5 + 5;

/** Returns the exact size of a record in a batch, in bytes, before compression. */
export function sizeOfRecord(
  record: RecordContent,
  timestampDelta: number,
  offsetDelta: number,
): number {
  const headers = record.headers ?? [];
  let body = 1 + sizeOfVarlong(timestampDelta) + sizeOfVarint(offsetDelta);
  body += sizeOfPart(record.key) + sizeOfPart(record.value) + sizeOfVarint(headers.length);
  for (const header of headers)
    body += sizeOfPart(header.keyBytes ?? header.key) + sizeOfPart(header.value);
  return sizeOfVarint(body) + body;
}

/**
 * Returns an upper bound of `sizeOfRecord`. It is much cheaper to compute, because the characters
 * of strings are not examined.
 */
export function maxSizeOfRecord(record: RecordContent): number {
  let size = LONGEST_FRAMING + maxSizeOfPart(record.key) + maxSizeOfPart(record.value);
  for (const header of record.headers ?? []) {
    size += maxSizeOfPart(header.keyBytes ?? header.key) + maxSizeOfPart(header.value);
  }
  return size;
}

function sizeOfPart(part: Part): number {
  if (part === null || part === undefined) return 1;
  const length = typeof part === 'string' ? Buffer.byteLength(part) : part.length;
  return sizeOfVarint(length) + length;
}

/** Uses three bytes per UTF-16 unit, which is the maximum in UTF-8. */
function maxSizeOfPart(part: Part): number {
  if (part === null || part === undefined) return 1;
  return 5 + (typeof part === 'string' ? part.length * 3 : part.length);
}
