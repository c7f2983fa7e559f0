import { MalformedBytesError } from '../malformed-bytes-error.js';
import type { InflatedBytes } from './inflated-bytes.js';
import { inflateLz4Block, maxLz4BlockBytes } from './lz4-block.js';
import { xxhash32 } from './xxhash32.js';

const MAGIC = 0x184d2204;
/** A flag in the length of a block: its bytes are not compressed. */
export const STORED = 0x8000_0000;
const LENGTH_BYTES = 4;
const CHECKSUM_BYTES = 4;

const FLAG = {
  version: 0xc0,
  independent: 0x20,
  blockChecksum: 0x10,
  contentSize: 0x08,
  contentChecksum: 0x04,
  reserved: 0x02,
  dictionary: 0x01,
} as const;
const VERSION = 0x40;

/** The content of a frame descriptor. */
interface Lz4Frame {
  readonly flags: number;
  readonly maxBlockBytes: number;
  readonly contentSize: number | undefined;
  /** The position of the first block. */
  readonly blocks: number;
}

/** Inflates the frame that starts at `at`; returns the position after it. */
export function inflateLz4Frame(bytes: Uint8Array, at: number, output: InflatedBytes): number {
  const reader = new FrameBytes(bytes);
  const frame = readDescriptor(reader, at);
  const start = output.length;
  at = frame.blocks;
  for (;;) {
    const stated = reader.uint32(at);
    at += LENGTH_BYTES;
    if (stated === 0) break;
    at = inflateBlock(reader, frame, { stated, at }, output, start);
  }
  requireContentSize(frame, output.length - start);
  if ((frame.flags & FLAG.contentChecksum) === 0) return at;
  requireChecksum('the content', reader.uint32(at), output.written(start));
  return at + CHECKSUM_BYTES;
}

function inflateBlock(
  reader: FrameBytes,
  frame: Lz4Frame,
  { stated, at }: { readonly stated: number; readonly at: number },
  output: InflatedBytes,
  start: number,
): number {
  const isStored = stated >= STORED;
  const block = reader.take(at, isStored ? stated - STORED : stated);
  if (block.length > maxLz4BlockBytes(frame.maxBlockBytes)) {
    throw new MalformedBytesError(`a block of ${block.length} bytes is longer than its frame says`);
  }
  const before = output.length;
  if (isStored) output.append(block, 0, block.length);
  else inflateLz4Block(block, output, (frame.flags & FLAG.independent) === 0 ? start : before);
  if (output.length - before > frame.maxBlockBytes) {
    throw new MalformedBytesError('a block inflates to more than its frame says');
  }
  const end = at + block.length;
  if ((frame.flags & FLAG.blockChecksum) === 0) return end;
  requireChecksum('a block', reader.uint32(end), block);
  return end + CHECKSUM_BYTES;
}

function readDescriptor(reader: FrameBytes, start: number): Lz4Frame {
  if (reader.uint32(start) !== MAGIC) {
    throw new MalformedBytesError('it does not start with the magic number of LZ4 frames');
  }
  const descriptor = start + 4;
  const flags = reader.byte(descriptor);
  requireSoundFlags(flags);
  const hasSize = (flags & FLAG.contentSize) !== 0;
  const end = descriptor + (hasSize ? 10 : 2);
  const stated = reader.byte(end);
  if (((xxhash32(reader.bytes, descriptor, end) >>> 8) & 0xff) !== stated) {
    throw new MalformedBytesError("the checksum of its frame's descriptor does not match");
  }
  return {
    flags,
    maxBlockBytes: blockBytesOf(reader.byte(descriptor + 1)),
    contentSize: hasSize ? reader.uint64(descriptor + 2) : undefined,
    blocks: end + 1,
  };
}

function requireSoundFlags(flags: number): void {
  if ((flags & FLAG.version) !== VERSION || (flags & FLAG.reserved) !== 0) {
    throw new MalformedBytesError(`the flags of its frame are ${flags}, which LZ4 does not have`);
  }
  if ((flags & FLAG.dictionary) !== 0) {
    throw new MalformedBytesError('it needs a dictionary, which Kafka does not support');
  }
}

/** Returns 64 KiB, 256 KiB, 1 MiB or 4 MiB. */
function blockBytesOf(descriptor: number): number {
  const code = descriptor >>> 4;
  if ((descriptor & 0x8f) === 0 && code >= 4) return 1 << (8 + 2 * code);
  throw new MalformedBytesError(
    `its frame has the block size ${descriptor}, which LZ4 does not have`,
  );
}

function requireContentSize({ contentSize }: Lz4Frame, size: number): void {
  if (contentSize === undefined || contentSize === size) return;
  throw new MalformedBytesError(`a frame that claims ${contentSize} bytes has ${size} of them`);
}

function requireChecksum(what: string, stated: number, bytes: Uint8Array): void {
  if (xxhash32(bytes, 0, bytes.length) === stated) return;
  throw new MalformedBytesError(`the checksum of ${what} does not match`);
}

class FrameBytes {
  private readonly view: DataView;

  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  byte(at: number): number {
    return this.take(at, 1)[0] as number;
  }

  uint32(at: number): number {
    this.require(at, 4);
    return this.view.getUint32(at, true);
  }

  /** Reads a number, rounded if it is larger than any valid size. */
  uint64(at: number): number {
    this.require(at, 8);
    return Number(this.view.getBigUint64(at, true));
  }

  take(at: number, size: number): Uint8Array {
    this.require(at, size);
    return this.bytes.subarray(at, at + size);
  }

  private require(at: number, size: number): void {
    if (size > this.bytes.length - at) throw new MalformedBytesError('a frame is cut off');
  }
}
