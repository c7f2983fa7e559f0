import { fseTableOf, type FseLimits, type FseTable } from './fse.js';

/** The coding of one of the three numbers of a sequence (literal length, match length, offset). */
export interface SequenceCode {
  /** The table for blocks that define no table. */
  readonly predefined: FseTable;
  readonly limits: FseLimits;
}

/** The numbers that the codes stand for: a baseline per code, plus the value of its extra bits. */
export interface CodeNumbers {
  readonly baselines: readonly number[];
  readonly bits: readonly number[];
}

const LITERAL_PROBABILITIES = [
  4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
  -1, -1, -1, -1,
];
const OFFSET_PROBABILITIES = [
  1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
];
const MATCH_PROBABILITIES = [
  1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];

export const LITERAL_LENGTH: SequenceCode = {
  predefined: fseTableOf(LITERAL_PROBABILITIES, 6),
  limits: { maxAccuracy: 9, maxSymbol: 35 },
};
export const OFFSET: SequenceCode = {
  predefined: fseTableOf(OFFSET_PROBABILITIES, 5),
  limits: { maxAccuracy: 8, maxSymbol: 31 },
};
export const MATCH_LENGTH: SequenceCode = {
  predefined: fseTableOf(MATCH_PROBABILITIES, 6),
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

/**
 * Computes the baselines. Each code starts where the previous one ends. The first `short` codes
 * stand for one number each, and the others for ranges.
 */
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
