import type { OffsetRange } from './offset-tracker.js';

/**
 * Completed records beyond a committed offset. The claim holds for one log only: the log of this
 * topic id, in which the record at the offset was written in `leaderEpoch`. No completed record was
 * written in a later epoch than `lastEpoch`.
 */
export interface CompletedRanges {
  readonly leaderEpoch: number;
  readonly lastEpoch: number;
  /** null if the broker knows no topic ids. */
  readonly topicId: string | null;
  /** Ascending, disjoint, and all beyond the offset. */
  readonly ranges: readonly OffsetRange[];
}

export interface EncodedMetadata {
  readonly text: string;
  /** False if not all ranges fit. */
  readonly isComplete: boolean;
}

/** Prefix `eb` and the version. A reader of another version ignores the metadata. */
const VERSION = 'eb1';
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** A digit has six bits: five bits of the number, and one that says whether more follow. */
const BITS = 5;
const MORE = 1 << BITS;

/** Encodes as many ranges as fit, from the first on; returns undefined if none fits. */
export function encodeMetadata(
  offset: number,
  { leaderEpoch, lastEpoch, topicId, ranges }: CompletedRanges,
  maxLength: number,
): EncodedMetadata | undefined {
  let text = `${VERSION} ${leaderEpoch}/${lastEpoch} ${topicId ?? ''} `;
  let end = offset;
  for (const { from, to } of ranges) {
    const run = numberText(from - end) + numberText(to - from);
    if (text.length + run.length > maxLength)
      return end === offset ? undefined : { text, isComplete: false };
    text += run;
    end = to;
  }
  return end === offset ? undefined : { text, isComplete: true };
}

/** Returns undefined for text that `encodeMetadata` has not written. */
export function decodeMetadata(offset: number, text: string | null): CompletedRanges | undefined {
  const match = /^eb1 (-1|\d{1,10})\/(-1|\d{1,10}) (\S{0,100}) ([\w-]+)$/.exec(text ?? '');
  if (!match) return undefined;
  const [, leaderEpoch, lastEpoch, topicId = '', digits = ''] = match;
  const ranges = rangesOf(offset, digits);
  if (!ranges) return undefined;
  return {
    leaderEpoch: Number(leaderEpoch),
    lastEpoch: Number(lastEpoch),
    topicId: topicId === '' ? null : topicId,
    ranges,
  };
}

function rangesOf(offset: number, digits: string): readonly OffsetRange[] | undefined {
  const numbers = numbersOf(digits);
  if (!numbers || numbers.length % 2 !== 0 || numbers.includes(0)) return undefined;
  const ranges: OffsetRange[] = [];
  let end = offset;
  for (let index = 0; index < numbers.length; index += 2) {
    const from = end + (numbers[index] as number);
    end = from + (numbers[index + 1] as number);
    ranges.push({ from, to: end });
  }
  return Number.isSafeInteger(end) ? ranges : undefined;
}

function numberText(value: number): string {
  let text = '';
  let rest = value;
  // Offsets have more than the 32 bits that a shift handles.
  while (rest >= MORE) {
    text += DIGITS[MORE + (rest % MORE)];
    rest = Math.floor(rest / MORE);
  }
  return text + DIGITS[rest];
}

function numbersOf(digits: string): readonly number[] | undefined {
  const numbers: number[] = [];
  let value = 0;
  let weight = 1;
  for (const digit of digits) {
    const bits = DIGITS.indexOf(digit);
    value += (bits % MORE) * weight;
    weight *= MORE;
    if (bits >= MORE) continue;
    numbers.push(value);
    [value, weight] = [0, 1];
  }
  return weight === 1 ? numbers : undefined;
}
