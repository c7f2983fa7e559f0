import { MalformedBytesError } from '../../malformed-bytes-error.js';
import { BackwardBits } from './backward-bits.js';
import { FseState, readFseTable } from './fse.js';

/**
 * A lookup table: for each string of `width` bits, its first symbol and the number of bits of that
 * symbol.
 */
export interface HuffmanTable {
  readonly width: number;
  /** The symbol in bits 0 to 7, and the number of bits from bit 8 on. */
  readonly codes: Uint16Array;
}

const MAX_WIDTH = 11;
const MAX_WEIGHTS = 255;
/**
 * A first byte of at least this value contains the number of weights, which follow with four bits
 * each.
 */
const DIRECT_WEIGHTS = 128;
const WEIGHT_LIMITS = { maxAccuracy: 6, maxSymbol: 12 } as const;

/** Reads the tree at `start`, which ends before `limit`. */
export function readHuffmanTable(
  bytes: Uint8Array,
  start: number,
  limit: number,
): { readonly table: HuffmanTable; readonly end: number } {
  const first = start < limit ? (bytes[start] as number) : 0;
  const at = start + 1;
  const isPlain = first >= DIRECT_WEIGHTS;
  const end = at + (isPlain ? (first - DIRECT_WEIGHTS + 2) >>> 1 : first);
  if (first === 0 || end > limit) throw new MalformedBytesError('a Huffman tree is cut off');
  const weights = isPlain
    ? directWeights(bytes, at, first - DIRECT_WEIGHTS + 1)
    : compressedWeights(bytes, at, end);
  return { table: tableOf(weights), end };
}

function directWeights(bytes: Uint8Array, start: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => {
    const byte = bytes[start + (index >>> 1)] as number;
    return index % 2 === 0 ? byte >>> 4 : byte & 15;
  });
}

/**
 * Decodes the weights with two alternating states. When one state finds no bits left, the other
 * gives the last weight.
 */
function compressedWeights(bytes: Uint8Array, start: number, end: number): number[] {
  const { table, end: streamStart } = readFseTable(bytes, start, end, WEIGHT_LIMITS);
  const bits = new BackwardBits(bytes, streamStart, end);
  let state = new FseState(table, bits);
  let other = new FseState(table, bits);
  const weights: number[] = [];
  while (bits.left >= 0) {
    if (weights.length >= MAX_WEIGHTS) throw new MalformedBytesError('a Huffman tree is too large');
    weights.push(state.symbol);
    state.advance(bits);
    [state, other] = [other, state];
  }
  weights.push(state.symbol);
  return weights;
}

/**
 * Builds the table. The weight of the last symbol is not stored: it completes the sum to a power of
 * two.
 */
function tableOf(given: readonly number[]): HuffmanTable {
  const total = given.reduce((sum, weight) => sum + (weight > 0 ? 2 ** (weight - 1) : 0), 0);
  const width = total > 0 && total < 2 ** MAX_WIDTH ? 32 - Math.clz32(total) : MAX_WIDTH + 1;
  const missing = 2 ** width - total;
  const last = Math.log2(missing) + 1;
  if (width > MAX_WIDTH || !Number.isInteger(last) || given.length > MAX_WEIGHTS) {
    throw new MalformedBytesError('a Huffman tree has a wrong length');
  }
  return fillCodes([...given, last], width);
}

function fillCodes(weights: readonly number[], width: number): HuffmanTable {
  const codes = new Uint16Array(1 << width);
  let at = 0;
  for (let weight = 1; weight <= width; weight++) {
    weights.forEach((own, symbol) => {
      if (own !== weight) return;
      const end = at + (1 << (weight - 1));
      codes.fill(((width + 1 - weight) << 8) | symbol, at, end);
      at = end;
    });
  }
  return { width, codes };
}

/** Inflates the stream from `start` to `end` into all of `output`. */
export function inflateHuffman(
  table: HuffmanTable,
  bytes: Uint8Array,
  [start, end]: readonly [start: number, end: number],
  output: Uint8Array,
): void {
  const stream = new BackwardBits(bytes, start, end);
  const { width, codes } = table;
  for (let at = 0; at < output.length; at++) {
    const code = codes[stream.peek(width)] as number;
    output[at] = code & 0xff;
    stream.left -= code >>> 8;
  }
  if (stream.left !== 0) throw new MalformedBytesError('a Huffman stream has a wrong length');
}
