import { MalformedBytesError } from '../../malformed-bytes-error.js';
import type { BackwardBits } from './backward-bits.js';

/**
 * A finite state entropy table. Each state has a symbol, and the rule for reading the next state.
 */
export interface FseTable {
  /** The number of bits with which the first state is read. */
  readonly accuracy: number;
  /**
   * A number per state. Bits 0 to 7: its symbol. From bit 8: how many bits to read for the next
   * state. From bit 16: the value to which those bits are added.
   */
  readonly states: Uint32Array;
}

const MIN_ACCURACY = 5;
/** A probability below one: the symbol has a single state, at the end of the table. */
const LESS_THAN_ONE = -1;

/** Returns a table with one symbol only. No bits are read to decode it. */
export function fseTableOfOne(symbol: number): FseTable {
  return { accuracy: 0, states: Uint32Array.of(symbol) };
}

/**
 * Builds a table. `shares` contains the number of states of each symbol; their sum is 2 to the
 * power of `accuracy`.
 */
export function fseTableOf(shares: readonly number[], accuracy: number): FseTable {
  const size = 1 << accuracy;
  const symbols = spreadSymbols(shares, size);
  const states = new Uint32Array(size);
  const next = shares.map((share) => (share === LESS_THAN_ONE ? 1 : share));
  for (let state = 0; state < size; state++) {
    const symbol = symbols[state] as number;
    const turn = next[symbol] as number;
    next[symbol] = turn + 1;
    const width = accuracy - (31 - Math.clz32(turn));
    states[state] = (((turn << width) - size) << 16) | (width << 8) | symbol;
  }
  return { accuracy, states };
}

/**
 * Assigns a symbol to each state. Symbols with LESS_THAN_ONE get the last states, and the others
 * are spread in wide steps.
 */
function spreadSymbols(shares: readonly number[], size: number): Uint8Array {
  const symbols = new Uint8Array(size);
  let end = size;
  shares.forEach((share, symbol) => {
    if (share === LESS_THAN_ONE) symbols[--end] = symbol;
  });
  const step = (size >>> 1) + (size >>> 3) + 3;
  let at = 0;
  shares.forEach((share, symbol) => {
    for (let left = share; left > 0; left--) {
      symbols[at] = symbol;
      do at = (at + step) & (size - 1);
      while (at >= end);
    }
  });
  return symbols;
}

export interface FseLimits {
  readonly maxAccuracy: number;
  readonly maxSymbol: number;
}

/** Reads the description of a table that starts at `start` and ends before `end`. */
export function readFseTable(
  bytes: Uint8Array,
  start: number,
  end: number,
  { maxAccuracy, maxSymbol }: FseLimits,
): { readonly table: FseTable; readonly end: number } {
  const bits = new ForwardBits(bytes, start, end);
  const accuracy = bits.read(4) + MIN_ACCURACY;
  if (accuracy > maxAccuracy) {
    throw new MalformedBytesError(`a table has the accuracy ${accuracy}, above ${maxAccuracy}`);
  }
  const shares: number[] = [];
  for (let left = 1 << accuracy; left > 0;) {
    if (shares.length > maxSymbol) throw new MalformedBytesError('a table has too many symbols');
    const share = readProbability(bits, left);
    shares.push(share);
    left -= Math.abs(share);
    if (share === 0) readZeros(bits, shares, maxSymbol);
  }
  return { table: fseTableOf(shares, accuracy), end: bits.finish() };
}

/**
 * Reads a number up to `left`, or LESS_THAN_ONE. If the range is not a power of two, small numbers
 * have one bit less.
 */
function readProbability(bits: ForwardBits, left: number): number {
  const width = 32 - Math.clz32(left + 1);
  const spare = (1 << width) - 2 - left;
  const short = bits.peek(width - 1);
  if (short < spare) {
    bits.skip(width - 1);
    return short - 1;
  }
  const value = bits.read(width);
  return (value > (1 << (width - 1)) - 1 ? value - spare : value) - 1;
}

/**
 * Reads how many of the next symbols have no state. A count of three is followed by another count.
 */
function readZeros(bits: ForwardBits, shares: number[], maxSymbol: number): void {
  let run: number;
  do {
    run = bits.read(2);
    for (let left = run; left > 0; left--) shares.push(0);
    if (shares.length > maxSymbol + 1)
      throw new MalformedBytesError('a table has too many symbols');
  } while (run === 3);
}

/** Reads bits from start to end, the lowest bit of a byte first. */
class ForwardBits {
  private position: number;

  constructor(
    private readonly bytes: Uint8Array,
    start: number,
    private readonly end: number,
  ) {
    this.position = start * 8;
  }

  peek(size: number): number {
    let value = 0;
    for (let bit = 0; bit < size; bit++) {
      const at = this.position + bit;
      const byte = at >>> 3 < this.end ? (this.bytes[at >>> 3] as number) : 0;
      value |= ((byte >>> (at & 7)) & 1) << bit;
    }
    return value;
  }

  skip(size: number): void {
    this.position += size;
    if (this.position > this.end * 8) throw new MalformedBytesError('a table is cut off');
  }

  read(size: number): number {
    const value = this.peek(size);
    this.skip(size);
    return value;
  }

  /** Returns the position of the first unused byte. */
  finish(): number {
    return (this.position + 7) >>> 3;
  }
}

/** A decoder state that moves through a table. */
export class FseState {
  private readonly states: Uint32Array;
  private state: number;

  constructor({ accuracy, states }: FseTable, bits: BackwardBits) {
    this.states = states;
    this.state = states[bits.read(accuracy)] as number;
  }

  get symbol(): number {
    return this.state & 0xff;
  }

  advance(bits: BackwardBits): void {
    const next = (this.state >>> 16) + bits.read((this.state >>> 8) & 0xff);
    this.state = this.states[next] as number;
  }
}
