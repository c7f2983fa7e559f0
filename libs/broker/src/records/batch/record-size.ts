import type { OutgoingHeader } from '../../port/record.js';
import { BATCH } from './batch-layout.js';
import { sizeOfVarint, sizeOfVarlong } from '../bytes.js';

/** What a record is made of, wherever it goes. Strings become UTF-8; an absent key is null. */
export interface RecordContent {
  readonly key?: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: readonly OutgoingHeader[];
}

/** What a batch takes besides its records. */
export const BATCH_OVERHEAD = BATCH.records;

type Part = Buffer | string | null | undefined;

/** Length, attributes, timestamp and offset delta, header count at their longest. */
const LONGEST_FRAMING = 5 + 1 + 8 + 5 + 5;

/** The bytes that a record takes in a batch, exactly, before compression. */
export function sizeOfRecord(
  record: RecordContent,
  timestampDelta: number,
  offsetDelta: number,
): number {
  const headers = record.headers ?? [];
  let body = 1 + sizeOfVarlong(timestampDelta) + sizeOfVarint(offsetDelta);
  body += sizeOfPart(record.key) + sizeOfPart(record.value) + sizeOfVarint(headers.length);
  for (const header of headers) body += sizeOfPart(header.key) + sizeOfPart(header.value);
  return sizeOfVarint(body) + body;
}

/** Never less than `sizeOfRecord`, and a good deal cheaper: it does not look into strings. */
export function maxSizeOfRecord(record: RecordContent): number {
  let size = LONGEST_FRAMING + maxSizeOfPart(record.key) + maxSizeOfPart(record.value);
  for (const header of record.headers ?? []) {
    size += maxSizeOfPart(header.key) + maxSizeOfPart(header.value);
  }
  return size;
}

function sizeOfPart(part: Part): number {
  if (part === null || part === undefined) return 1;
  const length = typeof part === 'string' ? Buffer.byteLength(part) : part.length;
  return sizeOfVarint(length) + length;
}

/** A UTF-16 unit takes three bytes of UTF-8 at most. */
function maxSizeOfPart(part: Part): number {
  if (part === null || part === undefined) return 1;
  return 5 + (typeof part === 'string' ? part.length * 3 : part.length);
}
