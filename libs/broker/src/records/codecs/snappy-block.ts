import { MalformedBytesError } from '../malformed-bytes-error.js';
import { copyBytes } from './copy-bytes.js';
import type { InflatedBytes } from './inflated-bytes.js';
import type { MatchFinder } from './match-finder.js';

/** The kind of an element, given by the low two bits of its first byte. */
const LITERAL = 0;
const NEAR_COPY = 1;
const FAR_COPY = 2;
/** Literals up to this length have their length in the first byte. */
const SHORT_LITERAL = 60;

/**
 * Returns an upper bound of the size that `compressSnappyBlock` writes for this number of bytes.
 */
export function maxSnappyBlockBytes(size: number): number {
  return 32 + size + Math.ceil(size / 6);
}

/**
 * Compresses the range as one block into `output` at `at`. Returns the position after the block.
 * The range may have at most 64 KiB.
 */
export function compressSnappyBlock(
  input: Uint8Array,
  [start, end]: readonly [start: number, end: number],
  finder: MatchFinder,
  output: Buffer,
  at: number,
): number {
  at = writeSize(output, at, end - start);
  finder.startBlock(start, end);
  while (finder.find()) {
    at = writeLiteral(input, finder.literals, finder.at, output, at);
    at = writeCopies(finder.distance, finder.length, output, at);
  }
  return writeLiteral(input, finder.literals, end, output, at);
}

function writeSize(output: Buffer, at: number, size: number): number {
  for (; size >= 0x80; size >>>= 7) output[at++] = (size & 0x7f) | 0x80;
  output[at++] = size;
  return at;
}

function writeLiteral(
  input: Uint8Array,
  from: number,
  end: number,
  output: Buffer,
  at: number,
): number {
  if (from === end) return at;
  const code = end - from - 1;
  if (code < SHORT_LITERAL) output[at++] = code << 2;
  else if (code < 0x100) {
    output[at++] = SHORT_LITERAL << 2;
    output[at++] = code;
  } else {
    output[at++] = (SHORT_LITERAL + 1) << 2;
    output[at++] = code & 0xff;
    output[at++] = code >>> 8;
  }
  return copyBytes(input, from, end, output, at);
}

/** Writes copies of at most 64 bytes. A copy with an 11-bit distance has at least 4 bytes. */
function writeCopies(distance: number, length: number, output: Buffer, at: number): number {
  for (; length >= 68; length -= 64) at = writeFarCopy(distance, 64, output, at);
  if (length > 64) {
    at = writeFarCopy(distance, 60, output, at);
    length -= 60;
  }
  if (length >= 12 || distance >= 2048) return writeFarCopy(distance, length, output, at);
  output[at++] = NEAR_COPY | ((length - 4) << 2) | ((distance >>> 8) << 5);
  output[at++] = distance & 0xff;
  return at;
}

function writeFarCopy(distance: number, length: number, output: Buffer, at: number): number {
  output[at++] = FAR_COPY | ((length - 1) << 2);
  output[at++] = distance & 0xff;
  output[at++] = distance >>> 8;
  return at;
}

/**
 * Inflates a block, which consists of all bytes of `block`. The claimed size is not allocated in
 * advance.
 */
export function inflateSnappyBlock(block: Uint8Array, output: InflatedBytes): void {
  const floor = output.length;
  const elements = new SnappyElements(block);
  const size = elements.size();
  while (!elements.done) elements.inflateNext(output, floor, floor + size);
  if (output.length - floor !== size) {
    throw new MalformedBytesError(
      `a block that claims ${size} bytes has ${output.length - floor} of them`,
    );
  }
}

class SnappyElements {
  private at = 0;

  constructor(private readonly block: Uint8Array) {}

  get done(): boolean {
    return this.at >= this.block.length;
  }

  /** Reads the size of the block, a varint of 32 bits. */
  size(): number {
    let size = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = this.byte();
      if (shift === 28 && byte > 0x0f) break;
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) return size >>> 0;
    }
    throw new MalformedBytesError('the size of a block is longer than 32 bits');
  }

  inflateNext(output: InflatedBytes, floor: number, end: number): void {
    const tag = this.byte();
    if ((tag & 3) === LITERAL) return this.inflateLiteral(tag >>> 2, output, end);
    let length = (tag >>> 2) + 1;
    let distance: number;
    if ((tag & 3) === NEAR_COPY) {
      length = ((tag >>> 2) & 7) + 4;
      distance = ((tag >>> 5) << 8) | this.byte();
    } else {
      distance = this.number((tag & 3) === FAR_COPY ? 2 : 4);
    }
    requireWithinSize(length, output, end);
    output.repeat(distance, length, floor);
  }

  private inflateLiteral(code: number, output: InflatedBytes, end: number): void {
    const length = (code < SHORT_LITERAL ? code : this.number(code - SHORT_LITERAL + 1)) + 1;
    requireWithinSize(length, output, end);
    const from = this.at;
    if (length > this.block.length - from) throw truncatedError();
    this.at = from + length;
    output.append(this.block, from, this.at);
  }

  private number(bytes: number): number {
    let value = 0;
    for (let shift = 0; shift < bytes * 8; shift += 8) value |= this.byte() << shift;
    return value >>> 0;
  }

  private byte(): number {
    if (this.at >= this.block.length) throw truncatedError();
    return this.block[this.at++] as number;
  }
}

function requireWithinSize(length: number, output: InflatedBytes, end: number): void {
  if (length > end - output.length) {
    throw new MalformedBytesError('a block has more bytes than it claims');
  }
}

function truncatedError(): MalformedBytesError {
  return new MalformedBytesError('a block is cut off');
}
