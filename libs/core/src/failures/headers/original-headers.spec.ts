import fc from 'fast-check';
import type { RecordHeader } from '@nest-event-bus/broker';
import type { HeaderProfileName } from '../../config/properties/dlt-properties.js';
import { withProducerHeaders } from '../../model/records/archived-headers.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import {
  aFailureReport,
  headers,
  recordOf,
  shown,
} from '../report/failure-report-samples.spec-support.js';
import { dltRecordOf } from '../report/dlt-record-of.js';
import { DltHeaderEnricher } from './dlt-header-enricher.js';
import { hostileHeaders } from './hostile-headers.spec-support.js';
import { readDeadLetter } from './read-dead-letter.js';
import { RetryHeaderEnricher } from './retry-header-enricher.js';

const LETTER = { kind: 'dead-letter', reason: 'MANUAL', cause: 'operator', at: 1 } as const;
const PROFILES = ['eventbus', 'spring', 'plain'] as const;

type Headers = readonly RecordHeader[];

/** A write to a retry topic: with which profiles, and how many of its headers were left out. */
interface Write {
  readonly profiles: readonly HeaderProfileName[];
  readonly reduction: number;
}

const aWrite: fc.Arbitrary<Write> = fc.record({
  profiles: fc.subarray([...PROFILES], { minLength: 1 }),
  reduction: fc.nat(3),
});

function reportOf(stored: Headers, tier: number): FailureReport {
  const topic = tier === 0 ? 'orders.events' : `orders.events.retry-${tier}`;
  return aFailureReport({ tier, record: recordOf({ topic, headers: stored }) });
}

/** Writes a record to a retry topic, as its last variant at most `reduction`. */
function written(stored: Headers, fromTier: number, { profiles, reduction }: Write): Headers {
  const hop = { kind: 'retry', tier: 1, delivery: 1, at: 1 } as const;
  const variants = [...new RetryHeaderEnricher(profiles).variants(reportOf(stored, fromTier), hop)];
  return variants[Math.min(reduction, variants.length - 1)]!.headers;
}

const throughTiers = (original: Headers, writes: readonly Write[]): Headers =>
  writes.reduce((stored, write, index) => written(stored, Math.min(index, 1), write), original);

describe('The original headers of a record', () => {
  it('are restored from its dead letter byte for byte, whatever its producer wrote and in whatever profiles it was retried', () => {
    fc.assert(
      fc.property(
        hostileHeaders,
        fc.array(aWrite, { maxLength: 4 }),
        aWrite,
        (original, writes, last) => {
          const tier = Math.min(writes.length, 1);
          const report = reportOf(throughTiers(original, writes), tier);
          const variants = [...new DltHeaderEnricher(last.profiles).variants(report, LETTER)];
          for (const { headers: stored } of variants.slice(0, -1)) {
            const letter = recordOf({ topic: 'orders.events.DLT', headers: stored });
            expect(readDeadLetter(letter).headers).toEqual(original);
          }
          expect(variants.at(-1)!.headers).toEqual(original);
          expect(dltRecordOf(report, LETTER, last.profiles).headers).toEqual(original);
        },
      ),
    );
  });

  it('are restored through a chain of buses, each of which takes the dead letters of the former as its events', () => {
    fc.assert(
      fc.property(
        hostileHeaders,
        fc.array(aWrite, { minLength: 1, maxLength: 3 }),
        (original, chain) => {
          const letters: Headers[] = [original];
          for (const { profiles } of chain) {
            const report = reportOf(letters.at(-1)!, 0);
            const [whole] = new DltHeaderEnricher(profiles).variants(report, LETTER);
            letters.push(whole!.headers);
          }
          for (const [index, stored] of letters.entries()) {
            if (index === 0) continue;
            const letter = recordOf({ topic: `chain-${index}.DLT`, headers: stored });
            expect(readDeadLetter(letter).headers).toEqual(letters[index - 1]);
          }
        },
      ),
    );
  });

  it('are what a handler in a retry topic sees, except for names of the bus itself', () => {
    const valuesOf = (list: Headers, name: string) =>
      list.filter(({ key }) => key === name).map(({ value }) => value);
    fc.assert(
      fc.property(
        hostileHeaders,
        fc.array(aWrite, { minLength: 1, maxLength: 3 }),
        (original, writes) => {
          const stored = recordOf({ headers: throughTiers(original, writes) });
          const seen = withProducerHeaders(stored);
          const bus = new Set(stored.headers.map(({ key }) => key));
          for (const { key } of original)
            if (!key.startsWith('x-eventbus-') || !bus.has(key))
              expect(valuesOf(seen.headers, key)).toEqual(valuesOf(original, key));
        },
      ),
    );
  });

  it('do not change where the bus reads its own: those of the producer never count', () => {
    const hostile = headers([
      ['x-eventbus-original-topic', 'elsewhere'],
      ['x-eventbus-total-attempts', '99'],
      ['x-eventbus-dlt-reason', 'MANUAL'],
      ['kafka_dlt-exception-fqcn', 'org.shop.Other'],
      ['exception-message', 'of another failure'],
    ]);
    const report = reportOf(hostile, 0);
    const variants = [...new DltHeaderEnricher(['eventbus']).variants(report, LETTER)];
    const withoutReport = variants.at(-2)!.headers;
    expect(readDeadLetter(recordOf({ headers: withoutReport }))).toMatchObject({
      originalTopic: 'orders.events',
      totalAttempts: 3,
      lastExceptionClass: 'unknown',
      lastExceptionMessage: '',
      headers: hostile,
    });
  });

  it('keep their own names if the header profiles of the binding do not use these names', () => {
    const own = headers([
      ['retry-count', '7'],
      ['kafka_dlt-original-topic', 'mine'],
    ]);
    const [whole] = new DltHeaderEnricher(['eventbus']).variants(reportOf(own, 0), LETTER);
    expect(whole!.headers.slice(0, 2)).toEqual(own);
  });
});

describe('Headers of a retry record that an older version has written', () => {
  const isNew = ({ key }: RecordHeader): boolean => key !== 'x-eventbus-header-profiles';
  const older = (profiles: readonly HeaderProfileName[], producers: Headers): Headers => [
    ...producers,
    ...written([], 0, { profiles, reduction: 0 }).filter(isNew),
  ];

  it('are recognised by the profiles of the binding, as that version did', () => {
    const mine = headers([['retry-count-of', '7']]);
    const report = reportOf(older(['spring', 'plain'], mine), 1);
    const [whole] = new DltHeaderEnricher(['spring', 'plain']).variants(report, LETTER);
    expect(readDeadLetter(recordOf({ headers: whole!.headers })).headers).toEqual(mine);
  });

  it('lose no archived header that the older version passed on', () => {
    const original = headers([['retry-count', '7']]);
    const first = written(original, 0, { profiles: ['plain'], reduction: 0 });
    const archived = first.filter(({ key }) => key.startsWith('x-eventbus-archived-'));
    const report = reportOf(older(['plain'], archived), 1);
    const [whole] = new DltHeaderEnricher(['plain']).variants(report, LETTER);
    expect(shown(readDeadLetter(recordOf({ headers: whole!.headers })).headers)).toEqual({
      'retry-count': '7',
    });
  });
});

describe('Headers of a record that was replayed to its topic', () => {
  const replay = (more: Parameters<typeof headers>[0] = []) =>
    headers([
      ['trace', 'a'],
      ['x-eventbus-archived-x-eventbus-version', 'of the producer'],
      ['x-eventbus-original-topic', 'orders.events'],
      ['x-eventbus-original-partition', '3'],
      ['x-eventbus-original-offset', '17'],
      ['x-eventbus-replay-count', '1'],
      ...more,
    ]);
  const letterOf = (stored: Headers) => {
    const [whole] = new DltHeaderEnricher(['eventbus']).variants(reportOf(stored, 0), LETTER);
    return readDeadLetter(recordOf({ headers: whole!.headers })).headers;
  };

  it('are those before its first failure', () => {
    expect(shown(letterOf(replay([['x-eventbus-header-profiles', '']])))).toEqual({
      trace: 'a',
      'x-eventbus-version': 'of the producer',
    });
  });

  it('are all of them if the record does not say that the bus has written it', () => {
    expect(letterOf(replay())).toEqual(replay());
  });
});
