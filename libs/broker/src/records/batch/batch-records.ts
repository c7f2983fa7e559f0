import type { BatchHeader } from './batch-header.js';
import { BATCH, MIN_RECORD_BYTES } from './batch-layout.js';
import { CodecRegistry } from '../codecs.js';
import { CODEC, type RecordInflater } from '../codecs/record-codec.js';
import { MalformedBytesError } from '../malformed-bytes-error.js';
import { RecordDecoder } from './record-decoder.js';

export interface InflateLimits {
  readonly codecs: CodecRegistry;
  readonly maxInflatedBytes: number;
}

/**
 * Returns a decoder for the records of a validated batch. Compressed records are decompressed
 * first.
 */
export function openRecords(header: BatchHeader, limits: InflateLimits): RecordDecoder {
  const start = header.start + BATCH.records;
  const decoder =
    header.codec === CODEC.none
      ? new RecordDecoder(header.bytes, start, header.end)
      : decoderOf(inflate(header.bytes.subarray(start, header.end), header.codec, limits));
  if (header.count * MIN_RECORD_BYTES > decoder.rest) {
    throw new MalformedBytesError(
      `it claims ${header.count} records, its ${decoder.rest} bytes cannot hold so many`,
    );
  }
  return decoder;
}

function decoderOf(records: Buffer): RecordDecoder {
  return new RecordDecoder(records, 0, records.length);
}

function inflate(block: Buffer, id: number, limits: InflateLimits): Buffer {
  // A batch without records may keep its codec without a compressed block.
  if (block.length === 0) return block;
  const name = CodecRegistry.nameOf(id);
  const codec = limits.codecs.find(id);
  if (codec === undefined) {
    throw new MalformedBytesError(`it is compressed with ${name}, which this driver does not read`);
  }
  return inflateWith(codec, block, limits.maxInflatedBytes);
}

function inflateWith(codec: RecordInflater, block: Buffer, maxBytes: number): Buffer {
  try {
    return codec.inflate(block, maxBytes);
  } catch (cause) {
    throw new MalformedBytesError(
      `its ${codec.name} block of ${block.length} bytes is broken, or inflates beyond ${maxBytes} bytes (maxInflatedBytes): ${reasonOf(cause)}`,
      { cause },
    );
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
