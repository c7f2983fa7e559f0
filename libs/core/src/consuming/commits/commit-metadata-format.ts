import type { OffsetRange } from './offset-tracker.js';

/**
 * Completed records beyond a committed offset. The ranges are valid for one log only. That log has
 * this topic id, its record at the committed offset was written in `leaderEpoch`, and no completed
 * record was written in a later epoch than `lastEpoch`.
 */
export interface CompletedRanges {
  readonly leaderEpoch: number;
  readonly lastEpoch: number;
  /** Topic id; null if the broker knows no topic ids. */
  readonly topicId: string | null;
  /** Ascending, disjoint, and all beyond the offset. */
  readonly ranges: readonly OffsetRange[];
  /** Failed calls of the record at the committed offset, if it is unfinished. */
  readonly calls?: number;
}

export interface EncodedMetadata {
  readonly text: string;
  /** False if not all ranges fit into the metadata. */
  readonly isComplete: boolean;
}

/** The commit to which metadata belongs. The ranges are relative to its offset. */
export interface CommitPosition {
  readonly partition: number;
  readonly offset: number;
}

/**
 * Prefix `eb` and the version of the format. A reader of another version ignores the metadata. The
 * first version did not name its commit: copied to another offset, it would hide records.
 */
const VERSION = 'eb2';
/** Limit for a number that anybody may have written. */
const MOST_CALLS = 1_000_000_000;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Bits of a number in one digit. The sixth bit of the digit says whether more digits follow. */
const BITS = 5;
const MORE = 1 << BITS;

/** Metadata of the start position of a recreated topic that no member has begun to read. */
export const HELD_START = 'eb recreated';

export function isHeldStart(text: string | null): boolean {
  return text === HELD_START;
}

/** Encodes as many ranges as fit, beginning with the first. Returns undefined if none fits. */
export function encodeMetadata(
  { partition, offset }: CommitPosition,
  { leaderEpoch, lastEpoch, topicId, ranges, calls = 0 }: CompletedRanges,
  maxLength: number,
): EncodedMetadata | undefined {
  let text = `${VERSION} ${partition}@${offset} ${leaderEpoch}/${lastEpoch} ${topicId ?? ''} `;
  const suffix = calls > 0 ? ` ${Math.min(calls, MOST_CALLS)}` : '';
  let end = offset;
  for (const { from, to } of ranges) {
    const run = numberText(from - end) + numberText(to - from);
    if (text.length + run.length + suffix.length > maxLength)
      return end === offset ? undefined : { text: text + suffix, isComplete: false };
    text += run;
    end = to;
  }
  const isWritten = end > offset || (calls > 0 && text.length + suffix.length <= maxLength);
  return isWritten ? { text: text + suffix, isComplete: true } : undefined;
}

const FORMAT =
  /^eb2 (\d{1,10}@\d{1,16}) (-1|\d{1,10})\/(-1|\d{1,10}) (\S{0,100}) ([\w-]*)(?: ([1-9]\d{0,9}))?$/;

/**
 * Returns undefined for text that `encodeMetadata` of this version has not written for this commit.
 * Tools and mirrors may set an offset with the text of another commit.
 */
export function decodeMetadata(
  { partition, offset }: CommitPosition,
  text: string | null,
): CompletedRanges | undefined {
  const match = FORMAT.exec(text ?? '');
  if (!match) return undefined;
  const [, position, leaderEpoch, lastEpoch, topicId = '', digits = '', calls] = match;
  if (position !== `${partition}@${offset}`) return undefined;
  const ranges = rangesOf(offset, digits);
  if (!ranges || (ranges.length === 0 && calls === undefined)) return undefined;
  return {
    leaderEpoch: Number(leaderEpoch),
    lastEpoch: Number(lastEpoch),
    topicId: topicId === '' ? null : topicId,
    ranges,
    ...(calls !== undefined && { calls: Math.min(Number(calls), MOST_CALLS) }),
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
  // Division instead of a shift, because offsets have more than the 32 bits that a shift handles.
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
