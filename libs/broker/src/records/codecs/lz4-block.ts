import { MalformedBytesError } from '../malformed-bytes-error.js';
import { copyBytes } from './copy-bytes.js';
import type { InflatedBytes } from './inflated-bytes.js';
import type { MatchFinder } from './match-finder.js';

/** A length of this value in a token is continued in the next bytes. */
const LONG_LENGTH = 15;
const SHORTEST_MATCH = 4;

/** Returns an upper bound of the size that `compressLz4Block` writes for this number of bytes. */
export function maxLz4BlockBytes(size: number): number {
  return size + Math.ceil(size / 255) + 16;
}

/**
 * Compresses the range as one block into `output` at `at`. Returns the position after the block.
 * The range may have at most 64 KiB.
 */
export function compressLz4Block(
  input: Uint8Array,
  [start, end]: readonly [start: number, end: number],
  finder: MatchFinder,
  output: Buffer,
  at: number,
): number {
  finder.startBlock(start, end);
  while (finder.find()) {
    const token = at;
    const length = finder.length - SHORTEST_MATCH;
    at = writeLiterals(input, finder.literals, finder.at, output, at);
    output[at++] = finder.distance & 0xff;
    output[at++] = finder.distance >>> 8;
    output[token] = (output[token] as number) | Math.min(length, LONG_LENGTH);
    at = writeRest(length, output, at);
  }
  return writeLiterals(input, finder.literals, end, output, at);
}

/** Writes a token without a match, followed by the literals. */
function writeLiterals(
  input: Uint8Array,
  from: number,
  end: number,
  output: Buffer,
  at: number,
): number {
  const length = end - from;
  output[at++] = Math.min(length, LONG_LENGTH) << 4;
  at = writeRest(length, output, at);
  return copyBytes(input, from, end, output, at);
}

function writeRest(length: number, output: Buffer, at: number): number {
  if (length < LONG_LENGTH) return at;
  let rest = length - LONG_LENGTH;
  for (; rest >= 0xff; rest -= 0xff) output[at++] = 0xff;
  output[at++] = rest;
  return at;
}

/**
 * Inflates a block, which consists of all bytes of `block`. Matches may reference bytes from
 * `floor` on.
 */
export function inflateLz4Block(block: Uint8Array, output: InflatedBytes, floor: number): void {
  new Lz4Sequences(block).inflate(output, floor);
}

class Lz4Sequences {
  private at = 0;

  constructor(private readonly block: Uint8Array) {}

  /** Reads all sequences. The last one has literals only. */
  inflate(output: InflatedBytes, floor: number): void {
    for (;;) {
      const token = this.byte();
      this.copyLiterals(this.length(token >>> 4), output);
      if (this.at === this.block.length) return;
      const distance = this.byte() | (this.byte() << 8);
      output.repeat(distance, this.length(token & LONG_LENGTH) + SHORTEST_MATCH, floor);
    }
  }

  private copyLiterals(length: number, output: InflatedBytes): void {
    const from = this.at;
    if (length > this.block.length - from) throw truncatedError();
    this.at = from + length;
    output.append(this.block, from, this.at);
  }

  /**
   * Reads the rest of a length. Each byte of the block adds at most 255, so the sum cannot
   * overflow.
   */
  private length(length: number): number {
    if (length < LONG_LENGTH) return length;
    let byte: number;
    do {
      byte = this.byte();
      length += byte;
    } while (byte === 0xff);
    return length;
  }

  private byte(): number {
    if (this.at >= this.block.length) throw truncatedError();
    return this.block[this.at++] as number;
  }
}

function truncatedError(): MalformedBytesError {
  return new MalformedBytesError('a block is cut off');
}
