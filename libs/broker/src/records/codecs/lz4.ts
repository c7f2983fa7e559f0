import { InflatedBytes } from './inflated-bytes.js';
import { maxLz4BlockBytes, compressLz4Block } from './lz4-block.js';
import { inflateLz4Frame, STORED } from './lz4-frame.js';
import { MatchFinder } from './match-finder.js';
import { CODEC, type RecordCodec } from './record-codec.js';

/**
 * The header of the only frame format that Java's client writes and reads: independent blocks of up
 * to 64 KiB, without checksums of blocks or content. The bytes are the magic number, the two bytes of
 * the frame descriptor, and the checksum of the descriptor.
 */
const HEADER = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
const END_MARK = Buffer.alloc(4);
const BLOCK_BYTES = 64 * 1024;
const LENGTH_BYTES = 4;
/** The typical compression ratio of text records. */
const USUAL_RATIO = 4;

export const lz4: RecordCodec = {
  id: CODEC.lz4,
  name: 'lz4',
  compress,
  inflate(block, maxBytes) {
    const output = new InflatedBytes(maxBytes, block.length * USUAL_RATIO);
    for (let at = 0; at < block.length;) at = inflateLz4Frame(block, at, output);
    return output.finish();
  },
};

function compress(records: Uint8Array): Buffer {
  const blocks = Math.ceil(records.length / BLOCK_BYTES);
  const bound =
    records.length + blocks * (LENGTH_BYTES + maxLz4BlockBytes(BLOCK_BYTES) - BLOCK_BYTES);
  const output = Buffer.allocUnsafeSlow(HEADER.length + bound + END_MARK.length);
  const finder = new MatchFinder(records);
  output.set(HEADER);
  let at = HEADER.length;
  for (let start = 0; start < records.length; start += BLOCK_BYTES) {
    const end = Math.min(start + BLOCK_BYTES, records.length);
    at = writeBlock(records, [start, end], finder, output, at);
  }
  output.set(END_MARK, at);
  return output.subarray(0, at + END_MARK.length);
}

/** Writes one block. If compression would enlarge the block, it is stored uncompressed. */
function writeBlock(
  records: Uint8Array,
  range: readonly [start: number, end: number],
  finder: MatchFinder,
  output: Buffer,
  at: number,
): number {
  const [start, end] = range;
  const block = at + LENGTH_BYTES;
  const packedEnd = compressLz4Block(records, range, finder, output, block);
  if (packedEnd - block < end - start) {
    output.writeUInt32LE(packedEnd - block, at);
    return packedEnd;
  }
  output.writeUInt32LE(STORED + end - start, at);
  output.set(records.subarray(start, end), block);
  return block + end - start;
}
