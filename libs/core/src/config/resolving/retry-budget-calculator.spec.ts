import fc from 'fast-check';
import { RetryBudgetCalculator } from './retry-budget-calculator.js';
import type { ResolvedTier0 } from './resolved-binding.js';

const calculator = new RetryBudgetCalculator();
const tier0 = (
  maxAttempts: number,
  initialBackoffMs = 0,
  multiplier = 2,
  maxBackoffMs = 1_000_000,
): ResolvedTier0 => ({
  maxAttempts,
  initialBackoffMs,
  multiplier,
  maxBackoffMs,
  maxElapsedMs: 0,
  jitter: 'capped',
});
const seconds = (...waits: number[]) => waits.map((wait) => wait * 1_000);

describe('RetryBudgetCalculator.totalWaitMs()', () => {
  it.each<[string, ResolvedTier0, number[]]>([
    ['one call', tier0(1, 1_000), []],
    ['the library’s default', tier0(3, 100, 2, 2_000), [100, 200]],
    ['strategy', tier0(4, 1_000, 2, 30_000), seconds(1, 2, 4)],
    ['strategy-financial', tier0(6, 5_000, 2, 60_000), seconds(5, 10, 20, 40, 60)],
    ['a multiplier that is not 2', tier0(4, 100, 3, 1_000), [100, 300, 900]],
    ['the cap', tier0(5, 100, 10, 500), [100, 500, 500, 500]],
    ['no growth', tier0(4, 100, 1, 500), [100, 100, 100]],
    ['no waiting', tier0(4, 0, 2, 500), [0, 0, 0]],
    ['a first wait above the cap', tier0(3, 900, 2, 500), [500, 500]],
  ])('returns the worst case of one record: %s', (_, given, waits) => {
    expect(calculator.totalWaitMs(given)).toBe(waits.reduce((sum, wait) => sum + wait, 0));
    expect(calculator.longestWaitMs(given)).toBe(Math.max(0, ...waits));
  });

  it('is the sum of all delays without jitter, and delays with jitter never exceed it', () => {
    const any = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 40 }),
      initialBackoffMs: fc.nat({ max: 5_000 }),
      multiplier: fc.integer({ min: 1, max: 4 }),
      maxBackoffMs: fc.nat({ max: 60_000 }),
    });
    fc.assert(
      fc.property(any, fc.double({ min: 0, max: 1, noNaN: true }), (given, chance) => {
        const waits = Array.from({ length: given.maxAttempts - 1 }, (_, index) =>
          Math.min(given.initialBackoffMs * given.multiplier ** index, given.maxBackoffMs),
        );
        const sum = waits.reduce((total, wait) => total + wait, 0);
        expect(calculator.totalWaitMs(given)).toBeCloseTo(sum, 3);
        expect(calculator.longestWaitMs(given)).toBe(Math.max(0, ...waits));
        expect(sum * chance).toBeLessThanOrEqual(calculator.totalWaitMs(given) + 0.001);
      }),
    );
  });

  it('takes no noticeable time for a million calls', () => {
    expect(calculator.totalWaitMs(tier0(1_000_000, 1, 2, 4))).toBe(1 + 2 + 4 * 999_997);
  });
});

describe('RetryBudgetCalculator.calculate()', () => {
  const budget = (more: Partial<Parameters<RetryBudgetCalculator['calculate']>[0]> = {}) =>
    calculator.calculate({
      tier0: tier0(2, 8_400, 1, 8_400),
      mode: 'in-line',
      maxPollRecords: 50,
      maxPollIntervalMs: 600_000,
      expectedProcessingMs: 0,
      ...more,
    });

  it('accepts less than 70 % of the poll interval, and refuses exactly 70 %', () => {
    expect(budget()).toEqual({
      recordMs: 8_400,
      sliceMs: 420_000,
      limitMs: 420_000,
      fits: false,
      largestMaxPollRecords: 49,
    });
    expect(budget({ maxPollRecords: 49 }).fits).toBe(true);
    expect(budget({ maxPollIntervalMs: 600_001 }).fits).toBe(true);
  });

  it('counts the handler time of each call', () => {
    expect(budget({ tier0: tier0(3, 100, 2, 2_000), expectedProcessingMs: 1_000 })).toEqual({
      recordMs: 3_300,
      sliceMs: 165_000,
      limitMs: 420_000,
      fits: true,
      largestMaxPollRecords: 127,
    });
  });

  it('counts only the longest delay if the record is delivered again between two calls', () => {
    const financial = tier0(6, 5_000, 2, 60_000);
    expect(budget({ tier0: financial })).toMatchObject({ sliceMs: 6_750_000, fits: false });
    expect(budget({ tier0: financial, mode: 'seek' })).toMatchObject({
      sliceMs: 60_000,
      fits: true,
    });
    expect(budget({ mode: 'seek', tier0: tier0(2, 420_000, 1, 420_000) })).toMatchObject({
      fits: false,
      largestMaxPollRecords: 0,
    });
    expect(budget({ mode: 'seek', expectedProcessingMs: 1_000 }).sliceMs).toBe(58_400);
  });

  it.each([
    ['strategy-financial', tier0(6, 5_000, 2, 60_000), 3],
    ['brokers', tier0(4, 1_000, 2, 30_000), 59],
  ])('allows %s, with retries inside one delivery, %d records per slice', (_, given, records) => {
    expect(budget({ tier0: given }).largestMaxPollRecords).toBe(records);
    expect(budget({ tier0: given, maxPollRecords: records }).fits).toBe(true);
    expect(budget({ tier0: given, maxPollRecords: records + 1 }).fits).toBe(false);
  });

  it('returns the largest number of records per slice that fits, so that one more does not fit', () => {
    const any = fc.record({
      tier0: fc.record({
        maxAttempts: fc.integer({ min: 1, max: 10 }),
        initialBackoffMs: fc.nat({ max: 5_000 }),
        multiplier: fc.constantFrom(1, 2, 3),
        maxBackoffMs: fc.nat({ max: 60_000 }),
      }),
      mode: fc.constantFrom('in-line' as const, 'seek' as const),
      maxPollIntervalMs: fc.integer({ min: 1, max: 1_000_000 }),
      expectedProcessingMs: fc.nat({ max: 10_000 }),
    });
    fc.assert(
      fc.property(any, (given) => {
        const { largestMaxPollRecords: largest, recordMs } = budget(given);
        if (largest > 0) expect(budget({ ...given, maxPollRecords: largest }).fits).toBe(true);
        if (recordMs > 0 && largest > 0) {
          expect(budget({ ...given, maxPollRecords: largest + 1 }).fits).toBe(false);
        }
      }),
    );
  });

  it('returns the same budget for the main topic and each tier with calculateAll()', () => {
    const retry = {
      tier0: tier0(3, 100, 2, 2_000),
      mode: 'in-line' as const,
      tiers: [{ topic: 'orders.retry-1' }],
    };
    const all = calculator.calculateAll({
      topic: 'orders',
      retry,
      maxPollRecords: 50,
      maxPollIntervalMs: 600_000,
      expectedProcessingMs: 0,
    } as never);
    expect(all.map(({ topic, sliceMs }) => [topic, sliceMs])).toEqual([
      ['orders', 15_000],
      ['orders.retry-1', 15_000],
    ]);
  });
});
