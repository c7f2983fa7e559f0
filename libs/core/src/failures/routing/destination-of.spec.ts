import type { ResolvedBinding, ResolvedTier } from '../../config/resolving/resolved-binding.js';
import {
  DeserializationException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import { destinationOf } from './destination-of.js';

const tier = (number: number): ResolvedTier => ({
  number,
  topic: `orders.retry-${number}`,
  groupId: `shop.retry-${number}`,
  delayMs: 1_000 * number,
  multiplier: 1,
  maxDelayMs: 1_000,
  maxAttempts: 3,
  topicSuffix: 'retry-{n}',
  concurrency: 1,
});

const failed = (
  error: Error = new Error('down'),
  reason: Failure['reason'] = 'retry-exhausted',
): Failure => ({ kind: 'failed', reason, error, attempts: 1 });

const { nextTier, skipToTier, deadLetter, pauseContainer } = ExceptionRoutingDecision;

function goesTo(
  decision: ExceptionRoutingDecision,
  place: { tier: number; delivery: number },
  { tiers = 3, ...rest }: { tiers?: number } & Partial<ResolvedBinding> = {},
  failure = failed(),
): unknown {
  const binding = {
    retry: { tiers: Array.from({ length: tiers }, (_, index) => tier(index + 1)) },
    orderingMode: 'RELAXED_IN_RETRY',
    strictExhaustion: 'DLT',
    ...rest,
  } as ResolvedBinding;
  const to = destinationOf(decision, failure, place, binding);
  if (to.kind === 'retry') return `tier ${to.tier}, delivery ${to.delivery}`;
  return to.kind === 'dead-letter' ? `${to.reason} ${to.cause}` : to.kind;
}

describe('NEXT_TIER', () => {
  it.each([
    [{ tier: 0, delivery: 1 }, 'tier 1, delivery 1'],
    [{ tier: 0, delivery: 9 }, 'tier 1, delivery 1'],
    [{ tier: 1, delivery: 1 }, 'tier 1, delivery 2'],
    [{ tier: 1, delivery: 2 }, 'tier 1, delivery 3'],
    [{ tier: 1, delivery: 3 }, 'tier 2, delivery 1'],
    [{ tier: 3, delivery: 2 }, 'tier 3, delivery 3'],
    [{ tier: 3, delivery: 3 }, 'RETRIES_EXHAUSTED exhausted'],
    // Tiers that were removed from the options while records waited in their topics.
    [{ tier: 4, delivery: 1 }, 'RETRIES_EXHAUSTED exhausted'],
  ])('leads from %j to %s', (place, expected) => {
    expect(goesTo(nextTier(), place)).toBe(expected);
  });

  it('leads to RETRIES_EXHAUSTED if no tier follows', () => {
    expect(goesTo(nextTier(), { tier: 0, delivery: 1 }, { tiers: 0 })).toBe(
      'RETRIES_EXHAUSTED exhausted',
    );
  });

  it.each([
    ['DLT', 'RETRIES_EXHAUSTED exhausted'],
    ['PAUSE_PARTITION', 'pause-partition'],
  ] as const)('leads with STRICT and strictExhaustion %s to %s', (strictExhaustion, expected) => {
    const strict = { tiers: 0, orderingMode: 'STRICT', strictExhaustion } as const;
    expect(goesTo(nextTier(), { tier: 0, delivery: 1 }, strict)).toBe(expected);
  });
});

describe('SKIP_TO_TIER', () => {
  it.each([
    [2, { tier: 0, delivery: 1 }, 'tier 2, delivery 1'],
    [3, { tier: 1, delivery: 1 }, 'tier 3, delivery 1'],
    [9, { tier: 0, delivery: 1 }, 'tier 3, delivery 1'],
  ])('to tier %d leads from %j forward to %s', (wanted, place, expected) => {
    expect(goesTo(skipToTier(wanted), place)).toBe(expected);
  });

  it.each([
    [2, { tier: 2, delivery: 1 }, 'tier 2, delivery 2'],
    [2, { tier: 2, delivery: 3 }, 'tier 3, delivery 1'],
    [1, { tier: 3, delivery: 3 }, 'RETRIES_EXHAUSTED exhausted'],
    [9, { tier: 3, delivery: 3 }, 'RETRIES_EXHAUSTED exhausted'],
  ])('to tier %d leads from %j to no earlier delivery: %s', (wanted, place, expected) => {
    expect(goesTo(skipToTier(wanted), place)).toBe(expected);
  });

  it('ends in the dead-letter topic even if the application always asks for the same tier', () => {
    const seen: unknown[] = [];
    let place = { tier: 0, delivery: 1 };
    for (let hop = 0; hop < 20; hop++) {
      const to = goesTo(skipToTier(2), place);
      seen.push(to);
      const [, number, delivery] = /tier (\d), delivery (\d)/.exec(String(to)) ?? [];
      if (!number) break;
      place = { tier: Number(number), delivery: Number(delivery) };
    }
    expect(seen).toHaveLength(7);
    expect(seen.at(-1)).toBe('RETRIES_EXHAUSTED exhausted');
  });
});

describe('DEAD_LETTER', () => {
  it.each([
    [new DeserializationException('x'), 'deserialization'],
    [new PayloadValidationException('x', []), 'validation'],
    [new UnknownEventTypeException('x'), 'unknown-type'],
    [new Error('x'), 'routing'],
  ])('with %s has the cause %s', (error, cause) => {
    expect(goesTo(deadLetter(), { tier: 0, delivery: 1 }, {}, failed(error))).toBe(
      `NON_RETRYABLE ${cause}`,
    );
  });

  it('has the cause permanent-error for a bad message', () => {
    const failure = failed(new Error('x'), 'bad-message');
    expect(goesTo(deadLetter(), { tier: 2, delivery: 1 }, {}, failure)).toBe(
      'NON_RETRYABLE permanent-error',
    );
  });
});

it('PAUSE_CONTAINER leads to a pause of the binding', () => {
  expect(goesTo(pauseContainer(), { tier: 1, delivery: 3 })).toBe('pause-binding');
});
