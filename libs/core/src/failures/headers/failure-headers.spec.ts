import fc from 'fast-check';
import type { RecordHeader } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import { readRetryHistory } from '../../model/records/retry-history.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import {
  headers,
  recordOf,
  shown,
  aFailureReport,
} from '../report/failure-report-samples.spec-support.js';
import { DltHeaderEnricher } from './dlt-header-enricher.js';
import { RetryHeaderEnricher } from './retry-header-enricher.js';

const AT = 1_700_000_003_000;
const LETTER = {
  kind: 'dead-letter',
  reason: 'RETRIES_EXHAUSTED',
  cause: 'exhausted',
  at: AT,
} as const;
const HOP = { kind: 'retry', tier: 2, delivery: 1, at: AT } as const;

const names = (list: readonly RecordHeader[]): string[] => list.map(({ key }) => key);

const deadLetter = (
  profiles: readonly HeaderProfileName[],
  report: Partial<FailureReport> = {},
): readonly RecordHeader[] => {
  const [whole] = new DltHeaderEnricher(profiles).variants(aFailureReport(report), LETTER);
  return whole!.headers;
};
const retry = (
  profiles: readonly HeaderProfileName[],
  report: Partial<FailureReport> = {},
  hop: Partial<typeof HOP | { tier: number }> = {},
): readonly RecordHeader[] => {
  const [whole] = new RetryHeaderEnricher(profiles).variants(aFailureReport(report), {
    ...HOP,
    ...hop,
  });
  return whole!.headers;
};

const CONTROL = {
  trace: 'a',
  'x-eventbus-version': '1',
  'x-eventbus-binding-name': 'orders',
  'x-eventbus-group-id': 'shop',
  'x-eventbus-original-topic': 'orders.events',
  'x-eventbus-original-partition': '3',
  'x-eventbus-original-offset': '17',
  'x-eventbus-original-timestamp': '1700000000000',
  'x-eventbus-total-attempts': '3',
  'x-eventbus-first-failure-timestamp': '1700000001000',
  'x-eventbus-replay-count': '0',
};
const LETTER_CONTROL = {
  ...CONTROL,
  'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
  'x-eventbus-dlt-cause': 'exhausted',
};
const RETRY_CONTROL = {
  ...CONTROL,
  'x-eventbus-retry-tier': '2',
  'x-eventbus-retry-attempt': '1',
  'x-eventbus-retry-timestamp': String(AT),
  'x-eventbus-fingerprint': '0123456789abcdef',
  'x-eventbus-tier0-attempts': '3',
};
const WAY_BEHIND = {
  'x-eventbus-tier0-exception': 'OutOfStock',
  'x-eventbus-tier0-exhausted-at': '1700000002000',
};

describe('A dead letter in the profile eventbus', () => {
  it('contains every field of its report', () => {
    const history = [
      { tier: 0, exceptionClass: 'Timeout', exhaustedAt: 5, attempts: 3 },
      { tier: 2, exceptionClass: 'OutOfStock', exhaustedAt: 6, attempts: 4 },
    ];
    const report = { tier: 2, isPoison: true, tierHistory: history, originalOffset: 2n ** 60n };
    expect(shown(deadLetter(['eventbus'], report))).toEqual({
      ...CONTROL,
      'x-eventbus-header-profiles': 'eventbus',
      'x-eventbus-original-offset': '1152921504606846976',
      'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
      'x-eventbus-dlt-cause': 'exhausted',
      'x-eventbus-dlt-timestamp': String(AT),
      'x-eventbus-retry-tier': '2',
      'x-eventbus-last-exception-class': 'OutOfStock',
      'x-eventbus-last-exception-message': 'no stock',
      'x-eventbus-last-exception-stacktrace': 'OutOfStock: no stock\n    at handle',
      'x-eventbus-fingerprint': '0123456789abcdef',
      'x-eventbus-poison': 'true',
      'x-eventbus-tier0-exception': 'Timeout',
      'x-eventbus-tier0-exhausted-at': '5',
      'x-eventbus-tier0-attempts': '3',
      'x-eventbus-tier2-exception': 'OutOfStock',
      'x-eventbus-tier2-exhausted-at': '6',
      'x-eventbus-tier2-attempts': '4',
    });
  });

  it("has no message and no stack with exceptionDetail 'class', and the poison header only for poison", () => {
    const headerNames = names(
      deadLetter(['eventbus'], { description: { className: 'OutOfStock' } }),
    );
    expect(headerNames).toContain('x-eventbus-last-exception-class');
    expect(headerNames).not.toContain('x-eventbus-last-exception-message');
    expect(headerNames).not.toContain('x-eventbus-last-exception-stacktrace');
    expect(headerNames).not.toContain('x-eventbus-poison');
  });
});

describe('A dead letter of a record that could not be deserialized', () => {
  const deserialization = {
    part: 'value',
    format: 'Avro',
    exceptionClass: 'UnreadableValueError',
    reason: 'the schema registry knows no schema 7',
  } as const;

  it('has headers about the deserialization, which are removed when the record is written again', () => {
    const own = {
      'x-eventbus-deserialization-part': 'value',
      'x-eventbus-deserialization-format': 'Avro',
      'x-eventbus-deserialization-exception-class': 'UnreadableValueError',
      'x-eventbus-deserialization-reason': 'the schema registry knows no schema 7',
    };
    const written = deadLetter(['eventbus'], { deserialization });
    expect(shown(written)).toMatchObject(own);
    const again = deadLetter(['eventbus'], { tier: 1, record: recordOf({ headers: written }) });
    expect(names(again).filter((name) => name.includes('deserialization'))).toEqual([]);
  });
});

describe('A dead letter in the profile spring', () => {
  it("has Spring's names in Spring's encodings, and the control headers of the bus", () => {
    const report = { originalPartition: 258, originalOffset: 2n ** 33n };
    const found = deadLetter(['spring'], report).filter(({ key }) => key.startsWith('kafka_dlt-'));
    expect(found).toEqual(
      headers([
        ['kafka_dlt-exception-fqcn', 'OutOfStock'],
        ['kafka_dlt-exception-cause-fqcn', 'SqlError'],
        ['kafka_dlt-exception-message', 'no stock'],
        ['kafka_dlt-exception-stacktrace', 'OutOfStock: no stock\n    at handle'],
        ['kafka_dlt-original-topic', 'orders.events'],
        ['kafka_dlt-original-partition', Buffer.from('00000102', 'hex')],
        ['kafka_dlt-original-offset', Buffer.from('0000000200000000', 'hex')],
        ['kafka_dlt-original-timestamp', Buffer.from('0000018bcfe56800', 'hex')],
        ['kafka_dlt-original-consumer-group', 'shop'],
      ]),
    );
    const others = shown(deadLetter(['spring']).filter(({ key }) => !key.startsWith('kafka_dlt-')));
    expect(others).toEqual({ ...LETTER_CONTROL, 'x-eventbus-header-profiles': 'spring' });
  });

  it('has the timestamp type of the original record, with the same value as the profile eventbus', () => {
    const report = { originalTimestampType: 'LogAppendTime' } as const;
    expect(shown(deadLetter(['spring', 'eventbus'], report))).toMatchObject({
      'kafka_dlt-original-timestamp-type': 'LogAppendTime',
      'x-eventbus-original-timestamp-type': 'LogAppendTime',
    });
  });

  it('has no headers for missing values', () => {
    const headerNames = names(deadLetter(['spring'], { description: { className: 'OutOfStock' } }));
    expect(headerNames.filter((name) => name.includes('exception'))).toEqual([
      'kafka_dlt-exception-fqcn',
    ]);
  });
});

describe('A dead letter in the profile plain', () => {
  const five = (report: Partial<FailureReport> = {}) =>
    shown(deadLetter(['plain'], report).filter(({ key }) => !/^(x-eventbus|trace)/.test(key)));

  it('has its five headers for an error with a message', () => {
    expect(five()).toEqual({
      'original-topic': 'orders.events',
      'exception-message': 'no stock',
      'exception-class': 'OutOfStock',
      'failure-timestamp': '2023-11-14T22:13:22.000Z',
      'retry-count': '2',
    });
  });

  it('has its five headers for an error without a message', () => {
    expect(five({ description: { className: 'OutOfStock' } })).toMatchObject({
      'exception-message': '',
      'exception-class': 'OutOfStock',
    });
  });

  it('adds up retries and replays in `retry-count`; a record whose handler was not called has none', () => {
    expect(five({ replayCount: 2 })['retry-count']).toBe('4');
    expect(five({ totalAttempts: 0 })['retry-count']).toBe('0');
  });
});

describe('A dead letter in several profiles', () => {
  it('has the headers of all profiles, each header once', () => {
    const headerNames = names(deadLetter(['eventbus', 'spring', 'plain']));
    expect(new Set(headerNames).size).toBe(headerNames.length);
    for (const profile of ['eventbus', 'spring', 'plain'] as const)
      expect(headerNames).toEqual(expect.arrayContaining(names(deadLetter([profile]))));
  });
});

describe('A record for a retry topic', () => {
  it.each<[HeaderProfileName]>([['eventbus'], ['spring'], ['plain']])(
    'has the headers that the reader of the retry topic needs, with the profile %s',
    (profile) => {
      expect(shown(retry([profile]))).toMatchObject({ ...RETRY_CONTROL, ...WAY_BEHIND });
    },
  );

  it('has only those headers with the profile eventbus: no message and no stack', () => {
    expect(shown(retry(['eventbus']))).toEqual({
      ...RETRY_CONTROL,
      ...WAY_BEHIND,
      'x-eventbus-header-profiles': 'eventbus',
    });
  });

  it('has the headers of the profiles plain and spring in addition', () => {
    expect(shown(retry(['plain']))).toMatchObject({
      'original-topic': 'orders.events',
      'retry-count': '3',
    });
    expect(names(retry(['spring']))).toContain('kafka_dlt-original-offset');
  });

  it('has no exhausted-at header for a tier to which it is written again', () => {
    const tierHistory = [
      { tier: 0, exceptionClass: 'A', exhaustedAt: 5, attempts: 3 },
      { tier: 2, exceptionClass: 'B', exhaustedAt: 6, attempts: 1 },
    ];
    const tiers = (tier: number) =>
      names(retry(['eventbus'], { tier: 2, tierHistory }, { tier })).filter((name) =>
        name.endsWith('exhausted-at'),
      );
    expect(tiers(2)).toEqual(['x-eventbus-tier0-exhausted-at']);
    expect(tiers(3)).toEqual(['x-eventbus-tier0-exhausted-at', 'x-eventbus-tier2-exhausted-at']);
  });

  it('gives the reader of the retry topic the history that was written', () => {
    const tierHistory = [
      { tier: 0, exceptionClass: 'A', exhaustedAt: 5, attempts: 3 },
      { tier: 2, exceptionClass: 'B', exhaustedAt: 6, attempts: 1 },
    ];
    const report = aFailureReport({ tier: 2, tierHistory, totalAttempts: 4, replayCount: 2 });
    for (const { headers: written } of new RetryHeaderEnricher(['plain']).variants(report, HOP)) {
      const next = recordOf({ topic: 'orders.events.retry-2', headers: written });
      expect(readRetryHistory(next, 2)).toMatchObject({
        original: { topic: 'orders.events', partition: 3, offset: 17n },
        originalTimestamp: 1_700_000_000_000,
        delivery: 1,
        totalAttempts: 4,
        attemptsInTier: 1,
        firstFailureAt: 1_700_000_001_000,
        fingerprint: '0123456789abcdef',
        replayCount: 2,
        tierHistory: [{ tier: 0, attempts: 3 }],
      });
    }
  });
});

describe('The headers that a record had before its failure', () => {
  const earlierHeaders = headers([
    ['trace', 'a'],
    ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
    ['tracestate', 'a=b'],
    ['baggage', 'user=7'],
    ['trace', Buffer.from([0, 255])],
    ['empty', ''],
    ['none', null],
    ['retry-count', '7'],
    ['x-eventbus-of-a-newer-version', 'kept'],
    ['x-eventbus-consumer-instance', 'upstream-0'],
  ]);

  it.each([
    ['a dead letter', deadLetter],
    ['a retry', retry],
  ])('come first in %s, byte for byte and in their order', (_, write) => {
    const written = write(['eventbus', 'spring'], {
      record: recordOf({ headers: earlierHeaders }),
    });
    expect(written.slice(0, earlierHeaders.length)).toEqual(earlierHeaders);
  });

  it('are replaced if an earlier retry has written them', () => {
    const stale = ['eventbus', 'spring', 'plain'] as const;
    const first = retry(stale, {}, { tier: 1 });
    const second = deadLetter(stale, {
      tier: 1,
      record: recordOf({ headers: [...earlierHeaders, ...first, ...first] }),
    });
    const reportNames = names(second).filter((name) =>
      /^(x-eventbus-|kafka_dlt-|retry-)/.test(name),
    );
    expect(new Set(reportNames).size).toBe(reportNames.length);
    expect(shown(second)).toMatchObject({ trace: ['a', '\0\ufffd', 'a', 'a'], 'retry-count': '2' });
    expect(names(second)).not.toContain('x-eventbus-retry-attempt');
  });

  it('are never removed, not even to make the record fit', () => {
    const own = fc.record({
      key: fc.string({ maxLength: 12 }).map((name) => `app-${name}`),
      value: fc.option(fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes))),
    });
    fc.assert(
      fc.property(fc.array(own, { maxLength: 12 }), (list) => {
        const report = aFailureReport({
          record: recordOf({ headers: [...list, ...retry(['spring'])] }),
        });
        const variants = [
          ...new DltHeaderEnricher(['spring']).variants(report, LETTER),
          ...new RetryHeaderEnricher(['spring']).variants(report, HOP),
        ];
        for (const { headers: written } of variants)
          expect(written.filter(({ key }) => key.startsWith('app-'))).toEqual(list);
      }),
    );
  });
});
