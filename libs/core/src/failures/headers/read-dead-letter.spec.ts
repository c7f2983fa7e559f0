import fc from 'fast-check';
import type { BrokerRecord } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import { dltRecordOf } from '../report/dlt-record-of.js';
import {
  headers,
  recordOf,
  aFailureReport,
} from '../report/failure-report-samples.spec-support.js';
import { DltHeaderEnricher } from './dlt-header-enricher.js';
import { readDeadLetter } from './read-dead-letter.js';

const AT = 1_700_000_003_000;
const LETTER = { kind: 'dead-letter', reason: 'MANUAL', cause: 'operator', at: AT } as const;

const letterOf = (given: Partial<BrokerRecord>): BrokerRecord =>
  recordOf({ topic: 'orders.events.DLT', partition: 0, offset: 4, timestamp: AT, ...given });

const written = (
  profiles: readonly HeaderProfileName[],
  report = aFailureReport(),
): BrokerRecord => {
  const [whole] = new DltHeaderEnricher(profiles).variants(report, LETTER);
  return letterOf({ headers: whole!.headers });
};

const long = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};

describe('readDeadLetter()', () => {
  const report = aFailureReport({
    record: recordOf({
      headers: headers([
        ['trace', 'a'],
        ['retry-count', 'mine'],
      ]),
    }),
    tier: 1,
    totalAttempts: 5,
    replayCount: 2,
    isPoison: true,
    originalOffset: 2n ** 60n,
    originalTimestampType: 'LogAppendTime',
    tierHistory: [
      { tier: 0, exceptionClass: 'Timeout', exhaustedAt: 5, attempts: 3 },
      { tier: 1, exceptionClass: 'OutOfStock', exhaustedAt: 6, attempts: 2 },
    ],
  });

  it.each<[readonly HeaderProfileName[]]>([
    [['eventbus']],
    [['eventbus', 'spring']],
    [['plain', 'eventbus', 'spring']],
  ])('returns the report that was written: %p', (profiles) => {
    const expected = dltRecordOf(report, LETTER, profiles);
    expect(readDeadLetter(written(profiles, report))).toEqual(expected);
  });

  it('returns why a record could not be deserialized', () => {
    const deserialization = { part: 'value', format: 'JSON', exceptionClass: 'X' } as const;
    const expected = (given: object) => {
      const unreadable = { ...report, deserialization: { ...deserialization, ...given } };
      return readDeadLetter(written(['eventbus'], unreadable)).deserialization;
    };
    expect(expected({})).toEqual(deserialization);
    expect(expected({ reason: 'no' })).toEqual({ ...deserialization, reason: 'no' });
  });

  it.each<[readonly HeaderProfileName[]]>([[['spring']], [['plain']], [['spring', 'plain']]])(
    'returns group, origin and reason without the profile eventbus: %p',
    (profiles) => {
      const unreadable = aFailureReport({
        ...report,
        deserialization: { part: 'value', format: 'JSON', exceptionClass: 'X', reason: 'no' },
      });
      const expected = dltRecordOf(unreadable, LETTER, profiles);
      expect(readDeadLetter(written(profiles, unreadable))).toMatchObject({
        dltReason: 'MANUAL',
        dltCause: 'operator',
        isPoison: true,
        deserialization: expected.deserialization,
        originalTopic: expected.originalTopic,
        originalPartition: expected.originalPartition,
        originalOffset: expected.originalOffset,
        originalTimestamp: expected.originalTimestamp,
        originalTimestampType: 'LogAppendTime',
        binding: 'orders',
        groupId: 'shop',
        replayCount: 2,
        totalAttempts: 5,
        firstFailureTimestamp: expected.firstFailureTimestamp,
        lastExceptionClass: 'OutOfStock',
        lastExceptionMessage: 'no stock',
        dltTimestamp: AT,
        headers: expected.headers,
      });
    },
  );

  it('dltRecordOf() gives listeners copies of key, value and headers', () => {
    const expected = dltRecordOf(report, LETTER, ['eventbus']);
    expected.value!.fill(1);
    expected.key!.fill(1);
    expected.headers[0]!.value!.fill(1);
    expect(report.record).toEqual(recordOf({ headers: report.record.headers }));
    expect(report.record.headers[0]?.value?.toString()).toBe('a');
  });
});

describe('readDeadLetter() with a dead letter of Spring', () => {
  const numbers = {
    bytes: [Buffer.from([0, 0, 0, 3]), long(17n), long(1_700_000_000_000n)],
    text: ['3', '17', '1700000000000'],
  } as const;

  it.each(['bytes', 'text'] as const)('reads numbers as %s', (encoding) => {
    const [partition, offset, timestamp] = numbers[encoding];
    const list = headers([
      ['kafka_dlt-exception-fqcn', 'org.shop.OutOfStock'],
      ['kafka_dlt-exception-message', 'no stock'],
      ['kafka_dlt-exception-stacktrace', 'org.shop.OutOfStock: no stock'],
      ['kafka_dlt-original-topic', 'orders.events'],
      ['kafka_dlt-original-partition', partition],
      ['kafka_dlt-original-offset', offset],
      ['kafka_dlt-original-timestamp', timestamp],
      ['kafka_dlt-original-consumer-group', 'shop'],
      ['mine', 'x'],
    ]);
    expect(readDeadLetter(letterOf({ headers: list }))).toEqual({
      originalTopic: 'orders.events',
      originalPartition: 3,
      originalOffset: 17n,
      originalTimestamp: 1_700_000_000_000,
      key: recordOf().key,
      value: recordOf().value,
      headers: headers([['mine', 'x']]),
      dltReason: 'RETRIES_EXHAUSTED',
      totalAttempts: 0,
      firstFailureTimestamp: AT,
      lastExceptionClass: 'org.shop.OutOfStock',
      lastExceptionMessage: 'no stock',
      lastExceptionStacktrace: 'org.shop.OutOfStock: no stock',
      tierHistory: [],
      dltTimestamp: AT,
      groupId: 'shop',
      replayCount: 0,
      isPoison: false,
    });
  });
});

describe('readDeadLetter() with the plain headers', () => {
  const five = (failed: string) =>
    headers([
      ['original-topic', 'emails'],
      ['exception-message', 'refused'],
      ['exception-class', 'SmtpError'],
      ['failure-timestamp', failed],
      ['retry-count', '3'],
      ['mine', 'x'],
    ]);

  it.each(['2023-11-14T22:13:20Z', '2023-11-14T22:13:20.000Z', '1700000000000'])(
    'reads the time %s',
    (failed) => {
      expect(readDeadLetter(letterOf({ headers: five(failed) }))).toMatchObject({
        originalTopic: 'emails',
        originalPartition: -1,
        originalOffset: -1n,
        firstFailureTimestamp: 1_700_000_000_000,
        totalAttempts: 4,
        lastExceptionClass: 'SmtpError',
        lastExceptionMessage: 'refused',
        headers: headers([['mine', 'x']]),
      });
    },
  );

  it('keeps headers of a producer that have the names of plain headers, but other values', () => {
    const mine = headers([
      ['retry-count', 'mine'],
      ['original-topic', 'mine, too'],
    ]);
    expect(readDeadLetter(letterOf({ headers: mine })).headers).toEqual(mine);
  });
});

describe('readDeadLetter() with missing headers', () => {
  it('uses the position of the record if the original position is missing', () => {
    expect(readDeadLetter(letterOf({ headers: [], key: null, value: null }))).toEqual({
      originalTopic: 'orders.events.DLT',
      originalPartition: 0,
      originalOffset: 4n,
      originalTimestamp: AT,
      key: null,
      value: null,
      headers: [],
      dltReason: 'RETRIES_EXHAUSTED',
      totalAttempts: 0,
      firstFailureTimestamp: AT,
      lastExceptionClass: 'unknown',
      lastExceptionMessage: '',
      tierHistory: [],
      dltTimestamp: AT,
      replayCount: 0,
      isPoison: false,
    });
  });

  it('uses another profile if the headers of one are damaged', () => {
    const list = headers([
      ['x-eventbus-original-topic', 'orders.events'],
      ['x-eventbus-original-partition', 'three'],
      ['x-eventbus-original-offset', '17'],
      ['kafka_dlt-original-topic', 'orders.events'],
      ['kafka_dlt-original-partition', Buffer.from([0, 0, 0, 3])],
      ['kafka_dlt-original-offset', long(17n)],
      ['x-eventbus-last-exception-class', ''],
      ['exception-class', 'SmtpError'],
      ['x-eventbus-dlt-reason', 'BOREDOM'],
      ['x-eventbus-dlt-cause', 'of a newer version'],
    ]);
    expect(readDeadLetter(letterOf({ headers: list }))).toMatchObject({
      originalPartition: 3,
      originalOffset: 17n,
      lastExceptionClass: 'SmtpError',
      dltReason: 'RETRIES_EXHAUSTED',
      dltCause: undefined,
    });
  });

  it('returns -1 for an unknown part of the original position', () => {
    const list = headers([['x-eventbus-original-topic', 'orders.events']]);
    expect(readDeadLetter(letterOf({ headers: list }))).toMatchObject({
      originalTopic: 'orders.events',
      originalPartition: -1,
      originalOffset: -1n,
    });
  });

  it('never throws, whatever the headers contain', () => {
    const profiles = ['eventbus', 'spring', 'plain'] as const;
    const names = written(profiles).headers.map(({ key }) => key);
    const damaged = fc.record({
      key: fc.constantFrom(...names),
      value: fc.option(fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes))),
    });
    fc.assert(
      fc.property(fc.array(damaged, { maxLength: 30 }), (list) => {
        const letter = readDeadLetter(letterOf({ headers: list }));
        expect(letter.originalPartition).toBeGreaterThanOrEqual(-1);
        expect(letter.originalOffset).toBeGreaterThanOrEqual(-1n);
        expect(Number.isSafeInteger(letter.totalAttempts)).toBe(true);
        expect(letter.firstFailureTimestamp).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
