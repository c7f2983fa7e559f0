import fc from 'fast-check';
import type { BrokerRecord } from '@nest-event-bus/broker';
import { readRetryHistory } from './retry-history.js';

type Values = Readonly<Record<string, string | Buffer>>;

const record = (values: Values = {}, given: Partial<BrokerRecord> = {}): BrokerRecord => ({
  topic: 'orders.retry-2',
  partition: 1,
  offset: 5,
  timestamp: 9_000,
  leaderEpoch: 0,
  sizeInBytes: 0,
  key: null,
  value: null,
  headers: Object.entries(values).map(([key, value]) => ({
    key: `x-eventbus-${key}`,
    value: Buffer.from(value),
  })),
  ...given,
});

const PAST = {
  'original-topic': 'orders',
  'original-partition': '3',
  'original-offset': '9007199254740993',
  'original-timestamp': '1000',
  'retry-tier': '2',
  'retry-attempt': '3',
  'retry-timestamp': '8000',
  'total-attempts': '12',
  'first-failure-timestamp': '2000',
  'replay-count': '1',
  fingerprint: 'abc',
  'tier0-exception': 'TimeoutError',
  'tier0-exhausted-at': '3000',
  'tier0-attempts': '3',
  'tier1-exception': 'TypeError',
  'tier1-exhausted-at': '4000',
  'tier1-attempts': '5',
  'tier2-exception': 'TimeoutError',
  'tier2-attempts': '4',
} as const;

const TIER_0 = { tier: 0, exceptionClass: 'TimeoutError', exhaustedAt: 3_000, attempts: 3 };
const TIER_1 = { tier: 1, exceptionClass: 'TypeError', exhaustedAt: 4_000, attempts: 5 };

const NEVER_FAILED = {
  delivery: 1,
  totalAttempts: 0,
  attemptsInTier: 0,
  firstFailureAt: undefined,
  tierHistory: [],
  fingerprint: undefined,
};

describe('readRetryHistory() in a retry topic', () => {
  it('returns the values of all headers', () => {
    expect(readRetryHistory(record(PAST), 2)).toEqual({
      original: { topic: 'orders', partition: 3, offset: 9_007_199_254_740_993n },
      originalTimestamp: 1_000,
      tier: 2,
      delivery: 3,
      totalAttempts: 12,
      attemptsInTier: 4,
      firstFailureAt: 2_000,
      tierHistory: [TIER_0, TIER_1],
      fingerprint: 'abc',
      replayCount: 1,
    });
  });

  it("uses the record's own position if another producer wrote it", () => {
    expect(readRetryHistory(record(), 1)).toEqual({
      original: { topic: 'orders.retry-2', partition: 1, offset: 5n },
      originalTimestamp: 9_000,
      tier: 1,
      replayCount: 0,
      ...NEVER_FAILED,
    });
  });

  it('limits counters, so that sums of them stay exact', () => {
    const most = String(Number.MAX_SAFE_INTEGER);
    const names = ['retry-attempt', 'total-attempts', 'replay-count', 'tier2-attempts'];
    const values = Object.fromEntries(names.map((name) => [name, most]));
    const limit = 1_000_000_000;
    expect(readRetryHistory(record({ ...PAST, ...values }), 2)).toMatchObject({
      delivery: limit,
      totalAttempts: limit,
      replayCount: limit,
      attemptsInTier: limit,
    });
  });

  it('ignores the deliveries of another tier', () => {
    expect(readRetryHistory(record(PAST), 1)).toMatchObject({
      tier: 1,
      delivery: 1,
      attemptsInTier: 5,
    });
  });

  it("uses the record's own position if the original one is incomplete", () => {
    const damaged = { ...PAST, 'original-offset': 'seventeen' };
    expect(readRetryHistory(record(damaged), 2)).toMatchObject({
      original: { topic: 'orders.retry-2', partition: 1, offset: 5n },
      originalTimestamp: 9_000,
      totalAttempts: 12,
    });
  });

  it('adds up the attempts of the tiers if the total is missing', () => {
    expect(readRetryHistory(record({ ...PAST, 'total-attempts': '' }), 2).totalAttempts).toBe(12);
  });

  it('keeps a tier of which only one header is present', () => {
    const { tierHistory } = readRetryHistory(
      record({ 'tier1-attempts': '2', 'retry-timestamp': '8' }),
      2,
    );
    const exceptionClass = 'unknown';
    expect(tierHistory).toEqual([{ tier: 1, exceptionClass, exhaustedAt: 8, attempts: 2 }]);
  });

  it('reads the headers of an older and of a newer version', () => {
    const older = record(PAST);
    const newer = record({ ...PAST, version: '99', 'not-known-here': 'x' });
    expect(readRetryHistory(newer, 2)).toEqual(readRetryHistory(older, 2));
  });

  it('never throws and never returns negative counts, whatever the headers contain', () => {
    const names = Object.keys(PAST);
    const bytes = fc.uint8Array({ maxLength: 12 }).map((value) => Buffer.from(value));
    const damaged = fc.dictionary(fc.constantFrom(...names), bytes);
    fc.assert(
      fc.property(damaged, fc.nat(4), (values, tier) => {
        const trail = readRetryHistory(record(values), tier);
        expect(trail.delivery).toBeGreaterThanOrEqual(1);
        for (const count of [trail.totalAttempts, trail.attemptsInTier, trail.replayCount])
          expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
      }),
    );
  });

  it('reads as many tiers as a binding may have', () => {
    const { tierHistory } = readRetryHistory(
      record({ 'tier99-attempts': '1', 'tier100-attempts': '2', 'tier101-attempts': '3' }),
      2,
    );
    expect(tierHistory.map(({ tier, attempts }) => [tier, attempts])).toEqual([
      [99, 1],
      [100, 2],
    ]);
  });

  it("uses the record's own position if the original topic is no valid name", () => {
    const topic = 'x'.repeat(250);
    expect(readRetryHistory(record({ ...PAST, 'original-topic': topic }), 2).original).toEqual({
      topic: 'orders.retry-2',
      partition: 1,
      offset: 5n,
    });
    const longest = 'x'.repeat(249);
    expect(readRetryHistory(record({ ...PAST, 'original-topic': longest }), 2).original.topic).toBe(
      longest,
    );
  });

  it('limits the size of its result, whatever the headers contain', () => {
    const many = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, tier) => [`tier${tier}-attempts`, '1']),
    );
    expect(readRetryHistory(record(many), 1).tierHistory.length).toBeLessThanOrEqual(101);
  });
});

describe('readRetryHistory() on the main topic', () => {
  const main = { topic: 'orders' };

  it('keeps only the original position and the number of replays', () => {
    expect(readRetryHistory(record(PAST, main), 0)).toEqual({
      original: { topic: 'orders', partition: 3, offset: 9_007_199_254_740_993n },
      originalTimestamp: 1_000,
      tier: 0,
      replayCount: 1,
      ...NEVER_FAILED,
    });
  });

  it('ignores headers that a producer copied from another topic', () => {
    expect(readRetryHistory(record(PAST, { topic: 'invoices' }), 0)).toEqual({
      original: { topic: 'invoices', partition: 1, offset: 5n },
      originalTimestamp: 9_000,
      tier: 0,
      replayCount: 0,
      ...NEVER_FAILED,
    });
  });

  it('ignores headers that a producer copied from a retried event of the same topic', () => {
    expect(readRetryHistory(record({ ...PAST, 'replay-count': '0' }, main), 0)).toMatchObject({
      original: { topic: 'orders', partition: 1, offset: 5n },
      originalTimestamp: 9_000,
    });
  });

  it('counts replays even if the position is missing', () => {
    expect(readRetryHistory(record({ 'replay-count': '2' }, main), 0)).toMatchObject({
      original: { topic: 'orders', partition: 1, offset: 5n },
      replayCount: 2,
    });
  });
});
