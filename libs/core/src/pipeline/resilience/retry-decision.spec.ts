import fc from 'fast-check';
import { RetryBudgetCalculator } from '../../config/resolving/retry-budget-calculator.js';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { bindingOf, recordingLogger, retryOf } from '../pipeline.spec-support.js';
import { RetryConfigFactory } from './retry-config-factory.js';
import { decideRetry, type FailedCall, type RetryDecision } from './retry-decision.js';

type Tier0 = Parameters<typeof retryOf>[0];

const configOf = (tier0: Tier0 = {}, mode: 'in-line' | 'seek' = 'in-line', rest: object = {}) =>
  new RetryConfigFactory().create(
    bindingOf({ retry: retryOf(tier0, { mode }), ...rest }),
    recordingLogger(),
  );

const failed = (given: Partial<FailedCall> = {}): FailedCall => ({
  judgement: 'retryable',
  call: 1,
  failures: 0,
  elapsedMs: 0,
  failingMs: 0,
  chance: 0,
  ...given,
});

const waits = (tier0: Tier0, chances: readonly number[]): readonly number[] =>
  chances.map((chance, index) => configOf(tier0).waitAfter(index + 1, chance));

describe('The waits between calls', () => {
  it.each<[string, Tier0, number[]]>([
    ['double by default', {}, [100, 200, 400, 800, 1_600, 2_000, 2_000]],
    ['follow the multiplier', { multiplier: 3 }, [100, 300, 900, 2_000, 2_000]],
    ['follow a multiplier with a fraction', { multiplier: 1.5 }, [100, 150, 225, 337.5]],
    ['stay the same with multiplier 1', { multiplier: 1 }, [100, 100, 100]],
    ['begin with initialBackoffMs', { initialBackoffMs: 7 }, [7, 14, 28]],
    ['are never longer than maxBackoffMs', { maxBackoffMs: 50 }, [50, 50, 50]],
    ['are 0 with initialBackoffMs 0', { initialBackoffMs: 0, multiplier: 1_000 }, [0, 0, 0]],
  ])('follow their options: %s', (_what, tier0, expected) => {
    expect(
      waits(
        tier0,
        expected.map(() => 0),
      ),
    ).toEqual(expected);
  });

  it('are shortened at random after the cap, by at most one half', () => {
    expect(waits({ multiplier: 3 }, [0.5, 0.2, 0.75, 0.25])).toEqual([75, 270, 562.5, 1_750]);
  });

  it('are not shortened without jitter', () => {
    const chances = [0.5, 0.2, 0.75, 0.25];
    expect(waits({ multiplier: 3, jitter: 'none' }, chances)).toEqual([100, 300, 900, 2_000]);
  });

  it('are the same for the same seed', () => {
    const seeded = (): readonly number[] => {
      const runtime = new VirtualRuntime({ seed: 42 });
      return waits(
        { multiplier: 3 },
        Array.from({ length: 4 }, () => runtime.random()),
      );
    };
    expect(seeded()).toEqual(seeded());
    const [first = 0, second = 0, third = 0, fourth = 0] = seeded();
    expect([first <= 100, second <= 300, third <= 900, fourth <= 2_000]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([first > 50, second > 150, third > 450, fourth > 1_000]).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  it('add up to no more than the calculated retry budget', () => {
    const tier0 = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 60 }),
      initialBackoffMs: fc.integer({ min: 0, max: 10_000 }),
      multiplier: fc.double({ min: 1, max: 1_000, noNaN: true }),
      maxBackoffMs: fc.integer({ min: 0, max: 100_000 }),
    });
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(tier0, fc.array(chance, { minLength: 60, maxLength: 60 }), (given, chances) => {
        const total = waits(given, chances.slice(0, given.maxAttempts - 1)).reduce(
          (sum, wait) => sum + wait,
          0,
        );
        expect(total).toBeLessThanOrEqual(
          new RetryBudgetCalculator().totalWaitMs(given) * (1 + 1e-9),
        );
        for (const wait of waits(given, chances))
          expect(wait).toBeLessThanOrEqual(given.maxBackoffMs);
      }),
    );
  });
});

describe('decideRetry, after a failed call', () => {
  const again = (waitMs: number): RetryDecision => ({ kind: 'call-again', waitMs });
  const end = (reason: string, rest: object = {}) => ({ kind: 'end', reason, ...rest });

  it.each<[string, Partial<FailedCall>, object]>([
    ['after the first of three calls', {}, again(100)],
    ['after the second of three calls', { call: 2 }, again(200)],
    ['the third of three', { call: 3 }, end('retry-exhausted')],
    ['in a later delivery, whose calls count from 1 again', { failures: 5 }, again(100)],
    ['of a bad message', { judgement: 'permanent' }, end('bad-message')],
    [
      'of an error that is not in retryableExceptions',
      { judgement: 'not-retried' },
      end('retry-exhausted'),
    ],
    ['of a record that a guard refused', { judgement: 'refused' }, end('retry-exhausted')],
  ])('allows or refuses a further call: %s', (_case, given, decision) => {
    expect(decideRetry(configOf(), failed(given))).toEqual(decision);
  });

  it('refuses a further call if maxAttempts is 1', () => {
    expect(decideRetry(configOf({ maxAttempts: 1 }), failed())).toEqual(end('retry-exhausted'));
  });

  it.each<[string, Partial<FailedCall>, object]>([
    ['the wait ends exactly at the limit', { elapsedMs: 600 }, again(100)],
    ['the wait would end too late', { elapsedMs: 601 }, end('budget-exceeded')],
    ['a wait shortened by chance fits', { elapsedMs: 640, chance: 0.8 }, again(60)],
    ['the limit has passed already', { elapsedMs: 5_000 }, end('budget-exceeded')],
    ['the call was the last one anyway', { elapsedMs: 5_000, call: 3 }, end('retry-exhausted')],
  ])(
    'does not exceed 70 %% of maxPollIntervalMs since the slice began: %s',
    (_case, given, decision) => {
      const config = configOf({}, 'in-line', { maxPollIntervalMs: 1_000 });
      expect(decideRetry(config, failed(given))).toEqual(decision);
    },
  );

  it.each<[string, Partial<FailedCall>, string]>([
    ['allows a call in time', { failingMs: 900 }, 'redeliver'],
    ['allows no call that would begin too late', { failingMs: 901 }, 'retry-exhausted'],
    ['allows no call after that time', { failingMs: 9_000 }, 'retry-exhausted'],
  ])('limits the time since the first failure by maxElapsedMs: %s', (_case, given, reason) => {
    const limited = { maxElapsedMs: 1_000 };
    const inLine = reason === 'redeliver' ? again(100) : end(reason);
    expect(decideRetry(configOf(limited), failed(given))).toEqual(inLine);
    expect(decideRetry(configOf(limited, 'seek'), failed(given))).toMatchObject({ reason });
    expect(decideRetry(configOf(), failed(given))).toEqual(again(100));
  });

  it('reserves the expected duration of the next call', () => {
    const config = configOf({}, 'in-line', { maxPollIntervalMs: 1_000, expectedProcessingMs: 300 });
    expect(decideRetry(config, failed({ elapsedMs: 300 }))).toEqual(again(100));
    expect(decideRetry(config, failed({ elapsedMs: 301 }))).toEqual(end('budget-exceeded'));
  });

  it.each<[string, Partial<FailedCall>, object]>([
    ['the first', {}, end('redeliver', { delayMs: 100 })],
    ['the second', { failures: 1 }, end('redeliver', { delayMs: 200 })],
    ['the third, which is the last', { failures: 2 }, end('retry-exhausted')],
    ['a tenth', { failures: 9 }, end('retry-exhausted')],
    ['of a bad message', { judgement: 'permanent' }, end('bad-message')],
    [
      'after the time limit of the slice, because the pipeline does not wait',
      { elapsedMs: 9e9 },
      end('redeliver', { delayMs: 100 }),
    ],
  ])("allows one call per delivery with retry.mode 'seek': %s", (_case, given, decision) => {
    expect(decideRetry(configOf({}, 'seek'), failed(given))).toEqual(decision);
  });
});
