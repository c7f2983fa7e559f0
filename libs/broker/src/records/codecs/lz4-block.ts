import { MalformedBytesError } from '../malformed-bytes-error.js';
import { copyBytes } from './copy-bytes.js';
import type { InflatedBytes } from './inflated-bytes.js';
import type { MatchFinder } from './match-finder.js';

/** A length of this much in a token goes on in the bytes behind it. */
const LONG = 15;
const SHORTEST_MATCH = 4;

/** Never less than what `packLz4Block` writes for so many bytes. */
export function maxLz4BlockBytes(size: number): number {
  return size + Math.ceil(size / 255) + 16;
}

/** Packs the stretch as one block into `output` at `at`; returns the position behind it. At most 64 KiB. */
export function packLz4Block(
  input: Uint8Array,
  [start, end]: readonly [start: number, end: number],
  finder: MatchFinder,
  output: Buffer,
  at: number,
): number {
  finder.enter(start, end);
  while (finder.find()) {
    const token = at;
    const length = finder.length - SHORTEST_MATCH;
    at = writeLiterals(input, finder.literals, finder.at, output, at);
    output[at++] = finder.distance & 0xff;
    output[at++] = finder.distance >>> 8;
    output[token] = (output[token] as number) | Math.min(length, LONG);
    at = writeRest(length, output, at);
  }
  return writeLiterals(input, finder.literals, end, output, at);
}

/** A token without a match, and the literals behind it. */
function writeLiterals(
  input: Uint8Array,
  from: number,
  end: number,
  output: Buffer,
  at: number,
): number {
  const length = end - from;
  output[at++] = Math.min(length, LONG) << 4;
  at = writeRest(length, output, at);
  return copyBytes(input, from, end, output, at);
}

function writeRest(length: number, output: Buffer, at: number): number {
  if (length < LONG) return at;
  let rest = length - LONG;
  for (; rest >= 0xff; rest -= 0xff) output[at++] = 0xff;
  output[at++] = rest;
  return at;
}

/** Unpacks the block that is exactly `block`; its matches may reach back to `floor`. */
export function inflateLz4Block(block: Uint8Array, output: InflatedBytes, floor: number): void {
  new Lz4Sequences(block).inflate(output, floor);
}

class Lz4Sequences {
  private at = 0;

  constructor(private readonly block: Uint8Array) {}

  /** The last sequence has literals only. */
  inflate(output: InflatedBytes, floor: number): void {
    for (;;) {
      const token = this.byte();
      this.copyLiterals(this.length(token >>> 4), output);
      if (this.at === this.block.length) return;
      const distance = this.byte() | (this.byte() << 8);
      output.repeat(distance, this.length(token & LONG) + SHORTEST_MATCH, floor);
    }
  }

  private copyLiterals(length: number, output: InflatedBytes): void {
    const from = this.at;
    if (length > this.block.length - from) throw cutOff();
    this.at = from + length;
    output.append(this.block, from, this.at);
  }

  /** Each byte of the block adds 255 at most, so that this cannot overflow. */
  private length(length: number): number {
    if (length < LONG) return length;
    let byte: number;
    do {
      byte = this.byte();
      length += byte;
    } while (byte === 0xff);
    return length;
  }

  private byte(): number {
    if (this.at >= this.block.length) throw cutOff();
    return this.block[this.at++] as number;
  }
}

function cutOff(): MalformedBytesError {
  return new MalformedBytesError('a block is cut off');
}
