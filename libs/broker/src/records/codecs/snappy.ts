import { MalformedBytesError } from '../malformed-bytes-error.js';
import { InflatedBytes } from './inflated-bytes.js';
import { MatchFinder } from './match-finder.js';
import { CODEC, type RecordCodec } from './record-codec.js';
import { inflateSnappyBlock, maxSnappyBlockBytes, compressSnappyBlock } from './snappy-block.js';

/**
 * Snappy itself defines no framing. Java's client (snappy-java by xerial) writes a header and then
 * blocks of 32 KiB, each after its length. librdkafka writes a single block without a header. Java
 * reads both formats, and so does this codec, which writes the format of Java.
 */
const MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
/** The magic number, the version, and the oldest compatible version; both versions are 1. */
const HEADER = Buffer.concat([MAGIC, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])]);
const LENGTH_BYTES = 4;
const BLOCK_BYTES = 32 * 1024;
/** The typical compression ratio of text records. */
const USUAL_RATIO = 4;

export const snappy: RecordCodec = {
  id: CODEC.snappy,
  name: 'snappy',
  compress,
  inflate(block, maxBytes) {
    const output = new InflatedBytes(maxBytes, block.length * USUAL_RATIO);
    if (isFramed(block, 0)) inflateFrames(block, output);
    else inflateSnappyBlock(block, output);
    return output.finish();
  },
};

function compress(records: Uint8Array): Buffer {
  const blocks = Math.ceil(records.length / BLOCK_BYTES);
  const bound = blocks * LENGTH_BYTES + maxSnappyBlockBytes(records.length) + blocks * 32;
  const output = Buffer.allocUnsafeSlow(HEADER.length + bound);
  const finder = new MatchFinder(records);
  output.set(HEADER);
  let at = HEADER.length;
  for (let start = 0; start < records.length; start += BLOCK_BYTES) {
    const block = at + LENGTH_BYTES;
    const range = [start, Math.min(start + BLOCK_BYTES, records.length)] as const;
    const end = compressSnappyBlock(records, range, finder, output, block);
    output.writeInt32BE(end - block, at);
    at = end;
  }
  return output.subarray(0, at);
}

function isFramed(block: Uint8Array, at: number): boolean {
  return MAGIC.equals(block.subarray(at, at + MAGIC.length));
}

function inflateFrames(block: Uint8Array, output: InflatedBytes): void {
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  for (let at = 0; at < block.length;) {
    // Concatenated streams each have their own header.
    if (isFramed(block, at)) at += HEADER.length;
    if (at === block.length) return;
    if (at + LENGTH_BYTES > block.length)
      throw new MalformedBytesError('its last length is cut off');
    const length = view.getInt32(at);
    at += LENGTH_BYTES;
    if (length < 0 || length > block.length - at) {
      throw new MalformedBytesError(`a block of ${length} bytes is incomplete`);
    }
    inflateSnappyBlock(block.subarray(at, at + length), output);
    at += length;
  }
}
