import type { BrokerRecord } from '@nest-event-bus/broker';
import fc from 'fast-check';
import { InvalidDeadLetterFilterException } from '../../errors/redrive-errors.js';
import { compileFilter, fixAges, type DeadLetterFilter } from './dead-letter-filter.js';
import { ReadLetter } from './read-letters.js';

const NOW = 1_700_000_000_000;

function letter(headers: Readonly<Record<string, string>> = {}, key = 'order-1'): ReadLetter {
  const all = {
    'x-eventbus-original-topic': 'orders',
    'x-eventbus-original-partition': '3',
    'x-eventbus-original-offset': '9007199254740993',
    'x-eventbus-dlt-timestamp': String(NOW - 60_000),
    'x-eventbus-last-exception-class': 'TimeoutError',
    'x-eventbus-dlt-reason': 'RETRIES_EXHAUSTED',
    'x-eventbus-dlt-cause': 'exhausted',
    'x-eventbus-replay-count': '2',
    'x-eventbus-tier0-attempts': '3',
    'x-eventbus-tier1-attempts': '1',
    tenant: 'acme',
    ...headers,
  };
  const record: BrokerRecord = {
    ...{ topic: 'orders.DLT', partition: 0, offset: 7, timestamp: NOW, leaderEpoch: 0 },
    key: Buffer.from(key),
    value: null,
    headers: Object.entries(all).map(([name, value]) => ({ key: name, value: Buffer.from(value) })),
    sizeInBytes: 100,
  };
  return new ReadLetter(record);
}

const matches = (filter: DeadLetterFilter, of = letter()): boolean =>
  compileFilter(fixAges(filter, NOW))(of);

describe('A filter of dead letters', () => {
  it.each<[DeadLetterFilter, DeadLetterFilter]>([
    [{ exceptionClass: 'TimeoutError' }, { exceptionClass: 'Timeout' }],
    [{ exceptionClass: { prefix: 'Time' } }, { exceptionClass: { prefix: 'time' } }],
    [{ exceptionClass: { in: ['A', 'TimeoutError'] } }, { exceptionClass: { in: ['A'] } }],
    [{ reason: 'RETRIES_EXHAUSTED' }, { reason: 'MANUAL' }],
    [{ cause: 'exhausted' }, { cause: 'poison' }],
    [{ key: 'order-1' }, { key: 'order-2' }],
    [{ headers: { tenant: 'acme' } }, { headers: { tenant: 'other' } }],
    [{ headers: { tenant: { prefix: 'a' } } }, { headers: { missing: 'acme' } }],
    [{ originalPartition: 3 }, { originalPartition: { in: [1, 2] } }],
    [{ originalPartition: { from: 3, to: 4 } }, { originalPartition: { from: 4 } }],
    [
      { originalOffset: { from: '9007199254740993', to: '9007199254740994' } },
      { originalOffset: { from: 9_007_199_254_740_994n } },
    ],
    [{ tier: 1 }, { tier: 0 }],
    [{ replays: { from: 2 } }, { replays: { to: 2 } }],
    [{ olderThan: '59s' }, { olderThan: '2m' }],
    [{ youngerThan: '2m' }, { youngerThan: '30s' }],
    [
      { olderThan: '30s', youngerThan: '2m' },
      { olderThan: '30s', youngerThan: '40s' },
    ],
    [
      { key: 'order-1', tier: 1 },
      { key: 'order-1', tier: 2 },
    ],
  ])('%j matches, and %j does not', (matching, other) => {
    expect(matches(matching)).toBe(true);
    expect(matches(other)).toBe(false);
  });

  it('by group matches the letters of the group', () => {
    const { group } = letter();
    expect(matches({ group })).toBe(true);
    expect(matches({ group }, letter({ 'x-eventbus-last-exception-class': 'Other' }))).toBe(false);
  });

  it('selects the same letters later, and can be stored as JSON', () => {
    const filter = { olderThan: '59s', originalOffset: { from: 1n } } as const;
    const fixed = fixAges(filter, NOW);
    const stored = JSON.parse(JSON.stringify(fixed)) as DeadLetterFilter;
    expect(stored).toEqual({
      originalOffset: { from: '1' },
      deadLetteredAt: { to: NOW - 59_000 },
    });
    expect(compileFilter(stored)(letter())).toBe(true);
  });

  it.each<[string, unknown]>([
    ['is empty', {}],
    ['is no object', 'TimeoutError'],
    ['has an unknown field', { exception: 'A' }],
    ['has a pattern', { exceptionClass: /a+/ }],
    ['has a function', { exceptionClass: () => true }],
    ['has an empty list', { key: { in: [] } }],
    ['has an endless list', { key: { in: Array.from({ length: 1_001 }, String) } }],
    ['has an endless text', { key: 'x'.repeat(1_001) }],
    ['has a list and a prefix', { key: { in: ['a'], prefix: 'a' } }],
    ['has an empty prefix', { key: { prefix: '' } }],
    ['has an empty range', { tier: { from: 2, to: 2 } }],
    ['has a negative offset', { originalOffset: { from: -1 } }],
    ['has no whole number', { tier: 1.5 }],
    ['has no duration', { olderThan: 'yesterday' }],
    ['has two times', { olderThan: '1h', deadLetteredAt: { from: 1 } }],
    ['names __proto__', JSON.parse('{"__proto__": {"in": ["a"]}}')],
    [
      'has too many headers',
      { headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [n, 'a'])) },
    ],
  ])('that %s is refused', (_, filter) => {
    expect(() => fixAges(filter as DeadLetterFilter, NOW)).toThrow(
      InvalidDeadLetterFilterException,
    );
  });

  it('is valid or refused with a typed error, whatever it holds', () => {
    const field = fc.constantFrom(
      ...[
        'exceptionClass',
        'key',
        'headers',
        'tier',
        'originalOffset',
        'olderThan',
        'x',
        '__proto__',
      ],
    );
    const condition = fc.oneof(
      fc.anything(),
      fc.record(
        { in: fc.anything(), prefix: fc.anything(), from: fc.anything(), to: fc.anything() },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.dictionary(field, condition)), (filter) => {
        try {
          compileFilter(fixAges(filter as DeadLetterFilter, NOW))(letter());
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidDeadLetterFilterException);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
