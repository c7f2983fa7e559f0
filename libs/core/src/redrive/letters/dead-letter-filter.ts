import type { RecordHeader } from '@nest-event-bus/broker';
import { isPlainObject } from '../../config/reading/plain-object.js';
import { durationComplaint, parseDuration, type Duration } from '../../config/reading/duration.js';
import { suggestion } from '../../model/nearest-name.js';
import type { ReadLetter } from './read-letters.js';
import {
  isFilterText,
  numberTest,
  offsetTest,
  onlyKeys,
  refused,
  textTest,
  type NumberCondition,
  type OffsetCondition,
  type Test,
  type TextCondition,
} from './filter-conditions.js';

/**
 * Selects dead letters by their headers and position. All given fields must match. Fields are data:
 * equality, lists, beginnings and ranges, so a filter never costs more than one pass over a letter.
 */
export interface DeadLetterFilter {
  readonly exceptionClass?: TextCondition;
  /** The id of a group of cause, as plans and lists return it. */
  readonly group?: TextCondition;
  /** The binding that dead-lettered the record. */
  readonly binding?: TextCondition;
  readonly reason?: TextCondition;
  readonly cause?: TextCondition;
  /** The key as text. A key that is no text is written as `base64:…`. */
  readonly key?: TextCondition;
  /** Values of the record's own headers. */
  readonly headers?: Readonly<Record<string, TextCondition>>;
  readonly originalPartition?: NumberCondition;
  readonly originalOffset?: OffsetCondition;
  /** The tier in which the record failed last: 0 is the main topic. */
  readonly tier?: NumberCondition;
  /** The number of earlier replays. */
  readonly replays?: NumberCondition;
  /** The time of the dead letter: `from <= time < to`, in milliseconds since 1970. */
  readonly deadLetteredAt?: NumberCondition;
  /** Selects letters that are older than this when the plan is made. */
  readonly olderThan?: Duration;
  /** Selects letters that are younger than this when the plan is made. */
  readonly youngerThan?: Duration;
}

type LetterTest = (letter: ReadLetter) => boolean;

const FIELDS: {
  readonly [K in Exclude<keyof DeadLetterFilter, 'olderThan' | 'youngerThan'>]: (
    condition: unknown,
  ) => LetterTest;
} = {
  exceptionClass: onText('exceptionClass', ({ facts }) => facts.lastExceptionClass),
  group: onText('group', ({ group }) => group),
  binding: onText('binding', ({ facts }) => facts.binding),
  reason: onText('reason', ({ facts }) => facts.dltReason),
  cause: onText('cause', ({ facts }) => facts.dltCause),
  key: onText('key', ({ keyText }) => keyText),
  headers: headersTest,
  originalPartition: onNumber('originalPartition', ({ facts }) => facts.originalPartition),
  originalOffset: (condition) => {
    const test = offsetTest('originalOffset', condition);
    return ({ facts }) => test(facts.originalOffset);
  },
  tier: onNumber('tier', ({ facts }) => facts.tierHistory.at(-1)?.tier),
  replays: onNumber('replays', ({ facts }) => facts.replayCount),
  deadLetteredAt: onNumber('deadLetteredAt', ({ facts }) => facts.dltTimestamp),
};

const AGES = ['olderThan', 'youngerThan'] as const;
const MOST_HEADERS = 20;

/**
 * Replaces ages by times, so that the filter selects the same letters whenever the plan runs.
 * Throws if the filter is not valid.
 */
export function fixAges(filter: DeadLetterFilter, now: number): DeadLetterFilter {
  checkFilter(filter);
  const { olderThan, youngerThan, ...others } = filter;
  const rest = { ...others, ...offsetsAsText(others) };
  if (olderThan === undefined && youngerThan === undefined) {
    compileFilter(rest);
    return rest;
  }
  if (rest.deadLetteredAt !== undefined)
    throw refused('deadLetteredAt', 'cannot be combined with olderThan or youngerThan');
  const at = {
    ...(youngerThan !== undefined && { from: now - ageOf('youngerThan', youngerThan) + 1 }),
    ...(olderThan !== undefined && { to: now - ageOf('olderThan', olderThan) }),
  };
  const fixed = { ...rest, deadLetteredAt: at };
  compileFilter(fixed);
  return fixed;
}

/** Compiles a filter without ages to one test. Throws if the filter is not valid. */
export function compileFilter(filter: DeadLetterFilter): LetterTest {
  checkFilter(filter);
  const tests = Object.entries(filter).flatMap(([field, condition]) =>
    condition === undefined ? [] : [FIELDS[field as keyof typeof FIELDS](condition)],
  );
  return (letter) => tests.every((test) => test(letter));
}

function checkFilter(filter: unknown): void {
  if (!isPlainObject(filter)) throw refused('filter', 'must be an object with fields');
  const known = [...Object.keys(FIELDS), ...AGES];
  const given = Object.keys(filter).filter((field) => filter[field] !== undefined);
  if (given.length === 0)
    throw refused('filter', 'is empty. Write all: true to select every dead letter');
  const unknown = given.find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw refused(
      'filter',
      `has no field '${unknown.slice(0, 100)}'. ${suggestion(unknown, known)}`,
    );
}

/** Returns the offsets in a form that JSON can hold. */
function offsetsAsText({ originalOffset }: DeadLetterFilter): DeadLetterFilter {
  const asText = (part: unknown): unknown => {
    if (typeof part === 'bigint') return String(part);
    if (Array.isArray(part)) return part.map(asText);
    if (!isPlainObject(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([name, bound]) => [name, asText(bound)]));
  };
  return originalOffset === undefined
    ? {}
    : { originalOffset: asText(originalOffset) as OffsetCondition };
}

function ageOf(field: string, age: unknown): number {
  const complaint = durationComplaint(age);
  if (complaint !== undefined) throw refused(field, `is no duration. ${complaint}`);
  return parseDuration(age);
}

function onText(
  field: string,
  value: (letter: ReadLetter) => string | null | undefined,
): (condition: unknown) => LetterTest {
  return (condition) => {
    const test = textTest(field, condition);
    return (letter) => test(value(letter));
  };
}

function onNumber(
  field: string,
  value: (letter: ReadLetter) => number | undefined,
): (condition: unknown) => LetterTest {
  return (condition) => {
    const test = numberTest(field, condition);
    return (letter) => test(value(letter));
  };
}

/** Matches if any value of each named header matches, because a header may occur several times. */
function headersTest(condition: unknown): LetterTest {
  if (!isPlainObject(condition)) throw refused('headers', 'must be an object of header names');
  const names = Object.keys(condition);
  if (names.length === 0 || names.length > MOST_HEADERS || !names.every(isFilterText))
    throw refused('headers', `needs 1 to ${MOST_HEADERS} header names`);
  onlyKeys('headers', condition, names);
  const tests = names.map((name): [string, Test<string | undefined>] => [
    name,
    textTest(`headers.${name.slice(0, 100)}`, condition[name]),
  ]);
  const has = (headers: readonly RecordHeader[], [name, test]: (typeof tests)[number]): boolean =>
    headers.some(({ key, value }) => key === name && test(value?.toString('utf8')));
  return ({ facts }) => tests.every((test) => has(facts.headers, test));
}
