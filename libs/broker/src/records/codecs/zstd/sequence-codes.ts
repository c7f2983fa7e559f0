import { fseTableOf, type FseLimits, type FseTable } from './fse.js';

/** One of the three numbers that a sequence is made of. */
export interface SequenceCode {
  /** The table of blocks that bring none. */
  readonly predefined: FseTable;
  readonly limits: FseLimits;
}

/** A code's number is its baseline plus this many bits. */
export interface CodeNumbers {
  readonly baselines: readonly number[];
  readonly bits: readonly number[];
}

const LITERAL_SHARES = [
  4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
  -1, -1, -1, -1,
];
const OFFSET_SHARES = [
  1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
];
const MATCH_SHARES = [
  1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];

export const LITERAL_LENGTH: SequenceCode = {
  predefined: fseTableOf(LITERAL_SHARES, 6),
  limits: { maxAccuracy: 9, maxSymbol: 35 },
};
export const OFFSET: SequenceCode = {
  predefined: fseTableOf(OFFSET_SHARES, 5),
  limits: { maxAccuracy: 8, maxSymbol: 31 },
};
export const MATCH_LENGTH: SequenceCode = {
  predefined: fseTableOf(MATCH_SHARES, 6),
  limits: { maxAccuracy: 9, maxSymbol: 52 },
};

export const LITERAL_LENGTHS: CodeNumbers = numbersOf(
  0,
  16,
  [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
);
export const MATCH_LENGTHS: CodeNumbers = numbersOf(
  3,
  32,
  [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
);

/** Each code goes on where the one before it ends: `short` codes of one number, then those of several. */
function numbersOf(first: number, short: number, wide: readonly number[]): CodeNumbers {
  const bits = [...Array<number>(short).fill(0), ...wide];
  const baselines: number[] = [];
  let next = first;
  for (const width of bits) {
    baselines.push(next);
    next += 2 ** width;
  }
  return { baselines, bits };
}
