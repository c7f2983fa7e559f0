import { InvalidDeadLetterFilterException } from '../../errors/redrive-errors.js';
import { formatValue } from '../../config/reading/format-value.js';
import { isPlainObject } from '../../config/reading/plain-object.js';

/** A text that a field must have: the text itself, one of several, or a beginning. */
export type TextCondition =
  string | { readonly in: readonly string[] } | { readonly prefix: string };

/** A number that a field must have: the number itself, one of several, or `from <= number < to`. */
export type NumberCondition =
  number | { readonly in: readonly number[] } | { readonly from?: number; readonly to?: number };

/** An offset may exceed the exact range of numbers, so it may also be a bigint or decimal text. */
type Offset = number | bigint | string;

/** An offset that a field must have: the offset itself, one of several, or `from <= offset < to`. */
export type OffsetCondition =
  Offset | { readonly in: readonly Offset[] } | { readonly from?: Offset; readonly to?: Offset };

export type Test<T> = (value: T) => boolean;

const MOST_VALUES = 1_000;
const LONGEST_TEXT = 1_000;
const DECIMAL = /^\d{1,19}$/;

export function textTest(field: string, condition: unknown): Test<string | null | undefined> {
  if (isFilterText(condition)) return (value) => value === condition;
  const { in: list, prefix } = onlyKeys(field, condition, ['in', 'prefix']);
  if (prefix !== undefined && list !== undefined) throw refused(field, 'needs either in or prefix');
  if (prefix !== undefined) {
    if (!isFilterText(prefix) || prefix === '') throw refused(field, 'prefix needs a text');
    return (value) => value?.startsWith(prefix) === true;
  }
  const values = new Set(listOf(field, list, isFilterText));
  return (value) => value !== null && value !== undefined && values.has(value);
}

export function numberTest(field: string, condition: unknown): Test<number | undefined> {
  if (isFilterNumber(condition)) return (value) => value === condition;
  const { in: list, ...range } = onlyKeys(field, condition, ['in', 'from', 'to']);
  if (list !== undefined && Object.keys(range).length === 0) {
    const values = new Set(listOf(field, list, isFilterNumber));
    return (value) => value !== undefined && values.has(value);
  }
  if (list !== undefined) throw refused(field, 'needs either in or a range');
  const { from, to } = boundsOf(field, range, isFilterNumber, Number);
  return (value) =>
    value !== undefined &&
    (from === undefined || value >= from) &&
    (to === undefined || value < to);
}

export function offsetTest(field: string, condition: unknown): Test<bigint> {
  if (isOffset(condition)) {
    const wanted = BigInt(condition);
    return (value) => value === wanted;
  }
  const { in: list, ...range } = onlyKeys(field, condition, ['in', 'from', 'to']);
  if (list !== undefined && Object.keys(range).length > 0)
    throw refused(field, 'needs either in or a range');
  if (list !== undefined) {
    const values = new Set(listOf(field, list, isOffset).map(BigInt));
    return (value) => values.has(value);
  }
  const { from, to } = boundsOf(field, range, isOffset, (value) => BigInt(value as string));
  return (value) => (from === undefined || value >= from) && (to === undefined || value < to);
}

/** Requires an object that has some of these keys and no other, and returns it. */
export function onlyKeys<Key extends string>(
  field: string,
  condition: unknown,
  keys: readonly Key[],
): Partial<Record<Key, unknown>> {
  if (!isPlainObject(condition)) throw refused(field, `got ${formatValue(condition)}`);
  const given = Object.keys(condition).filter((key) => condition[key] !== undefined);
  const unknown = given.find((key) => !keys.includes(key as Key));
  if (unknown !== undefined)
    throw refused(field, `has no '${unknown.slice(0, 100)}'. Known are: ${keys.join(', ')}`);
  if (given.length === 0) throw refused(field, 'is empty');
  return Object.fromEntries(given.map((key) => [key, condition[key]])) as Partial<
    Record<Key, unknown>
  >;
}

export function refused(field: string, complaint: string): InvalidDeadLetterFilterException {
  return new InvalidDeadLetterFilterException(field, complaint);
}

export const isFilterText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= LONGEST_TEXT;

const isFilterNumber = (value: unknown): value is number => Number.isSafeInteger(value);

const isOffset = (value: unknown): value is Offset =>
  (typeof value === 'bigint' && value >= 0n) ||
  (Number.isSafeInteger(value) && (value as number) >= 0) ||
  (typeof value === 'string' && DECIMAL.test(value));

function listOf<T>(
  field: string,
  list: unknown,
  isMember: (value: unknown) => value is T,
): readonly T[] {
  if (Array.isArray(list) && list.length > 0 && list.length <= MOST_VALUES && list.every(isMember))
    return list;
  throw refused(field, `needs 1 to ${MOST_VALUES} valid values in 'in'`);
}

function boundsOf<T extends number | bigint>(
  field: string,
  { from, to }: { readonly from?: unknown; readonly to?: unknown },
  isBound: (value: unknown) => boolean,
  convert: (value: unknown) => T,
): { readonly from: T | undefined; readonly to: T | undefined } {
  for (const bound of [from, to])
    if (bound !== undefined && !isBound(bound))
      throw refused(field, `has a bound that is no whole number: ${formatValue(bound)}`);
  const bounds = {
    from: from === undefined ? undefined : convert(from),
    to: to === undefined ? undefined : convert(to),
  };
  if (bounds.from !== undefined && bounds.to !== undefined && bounds.from >= bounds.to)
    throw refused(field, 'has a range that contains nothing: from must be below to');
  return bounds;
}
