import {
  anyOf,
  choice,
  constant,
  explained,
  flag,
  integer,
  list,
  named,
  nothing,
  number,
  object,
  record,
  text,
  time,
  type ValueOf,
} from '../schema.js';
import { count, duration, offsetText, partitionNumber, reasonText } from './common-schemas.js';

const shortText = text({ maxLength: 1_000 });
const wholeNumber = integer();

const textCondition = named(
  'TextCondition',
  anyOf(
    shortText,
    object({ in: list(shortText, { minItems: 1, maxItems: 1_000 }) }),
    object({ prefix: text({ minLength: 1, maxLength: 1_000 }) }),
  ),
);

const numberCondition = named(
  'NumberCondition',
  anyOf(
    wholeNumber,
    object({ in: list(wholeNumber, { minItems: 1, maxItems: 1_000 }) }),
    object({}, { from: wholeNumber, to: wholeNumber }, { minProperties: 1 }),
  ),
);

export const letterFilter = named(
  'DeadLetterFilter',
  object(
    {},
    {
      exceptionClass: textCondition,
      group: textCondition,
      reason: textCondition,
      cause: textCondition,
      key: textCondition,
      headers: record(textCondition, { minProperties: 1, maxProperties: 20 }),
      originalPartition: numberCondition,
      originalOffset: object({}, { from: offsetText, to: offsetText }, { minProperties: 1 }),
      tier: numberCondition,
      replays: numberCondition,
      deadLetteredAt: object({}, { from: time(), to: time() }, { minProperties: 1 }),
      olderThan: duration,
      youngerThan: duration,
    },
    { minProperties: 1 },
  ),
);

export type AdminLetterFilter = ValueOf<typeof letterFilter>;

export const position = named(
  'DeadLetterPosition',
  object({ partition: partitionNumber, offset: offsetText }),
);

const letterStatus = choice('open', 'replayed', 'permanently-failed');

export const letterSearch = named(
  'DeadLetterSearch',
  object(
    {},
    {
      where: letterFilter,
      status: letterStatus,
      limit: integer({ minimum: 1, maximum: 1_000, description: 'Default 50.' }),
      after: explained('`next` of the previous page.', position),
    },
  ),
);

export const letter = named(
  'DeadLetter',
  object(
    {
      position,
      status: text(),
      group: text(),
      originalTopic: text(),
      originalPartition: integer(),
      originalOffset: text({ description: 'Decimal text.' }),
      deadLetteredAt: time(),
      reason: text(),
      exceptionClass: text(),
      exceptionMessage: text(),
      totalAttempts: count,
      replays: count,
      isPoison: flag(),
      key: anyOf(text(), nothing),
      valueBytes: anyOf(count, nothing),
      headerNames: list(text()),
    },
    {
      cause: text(),
      decision: object(
        { status: text(), at: time(), by: text(), times: count },
        { operation: text(), reason: text(), to: text() },
      ),
    },
  ),
);

export type AdminLetter = ValueOf<typeof letter>;

export const letterPage = named(
  'DeadLetterPage',
  object({ letters: list(letter) }, { next: position }),
);

const bytes = anyOf(text(), nothing);

export const payload = named(
  'Payload',
  object({
    position,
    encoding: explained('`base64` if the value is not UTF-8.', choice('utf8', 'base64')),
    value: bytes,
    headers: list(object({ name: text(), encoding: choice('utf8', 'base64'), value: bytes })),
  }),
);

export type AdminPayload = ValueOf<typeof payload>;

export const edit = named(
  'Edit',
  object(
    { reason: reasonText },
    {
      value: explained('The new value. Null writes a record without a value.', bytes),
      key: explained('The new key. It also decides the partition.', bytes),
      encoding: explained(
        'How `value` and `key` are written. Default `utf8`.',
        choice('utf8', 'base64'),
      ),
      headers: explained(
        'Headers to set. Null removes a header, and the others are kept.',
        record(bytes, { minProperties: 1, maxProperties: 50 }),
      ),
    },
  ),
);

export const edited = named(
  'Edited',
  object({
    replayId: explained('The new record carries it in a header.', text()),
    digestBefore: explained('A digest of key and value.', text()),
    digestAfter: text(),
    delivery: explained(
      'At least once without transactions: a failure may write the record twice.',
      choice('exactly-once', 'at-least-once'),
    ),
  }),
);

export const causeGroup = named(
  'CauseGroup',
  object(
    { id: text(), exceptionClass: text(), count, firstSeen: time(), lastSeen: time() },
    { cause: text() },
  ),
);

const counted = record(count);

export const letterStats = named(
  'DeadLetterStats',
  object(
    {
      deadLetterTopic: text(),
      count,
      byStatus: counted,
      byException: counted,
      byReason: counted,
      byTier: counted,
      byAge: counted,
      byOriginalPartition: counted,
      groups: list(causeGroup),
    },
    {
      oldest: time(),
      newest: time(),
      sampled: explained(
        'Only a part of the topic was read. The figures are those of that part.',
        object({ read: count, total: count }),
      ),
    },
  ),
);

export type AdminLetterStats = ValueOf<typeof letterStats>;

export const target = named(
  'Target',
  anyOf(
    constant('origin'),
    object({ tier: integer({ minimum: 1, maximum: 1_000 }) }),
    object({ topic: text({ pattern: '^[\\w.-]{1,249}$' }) }),
  ),
);

export const rate = number({
  exclusiveMinimum: 0,
  maximum: 1_000_000,
  description: 'The largest number of letters per second. Default: no limit.',
});

export const mark = named(
  'Mark',
  object(
    { status: choice('permanently-failed', 'open'), reason: reasonText },
    {
      at: list(position, { minItems: 1, maxItems: 1_000 }),
      where: letterFilter,
    },
  ),
);

export const markReport = named('MarkReport', object({ changed: count, unchanged: count }));
