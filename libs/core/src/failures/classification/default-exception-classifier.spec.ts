import type { ErrorMatcher } from '../../config/error-matching/error-matcher.js';
import type { ResolvedExceptionRoute } from '../../config/resolving/resolved-binding.js';
import { resolvedOrders } from '../../config/configuration.spec-support.js';
import { CircuitBreakerOpenException } from '../../errors/circuit-errors.js';
import { BatchProcessingException, DeserializationException } from '../../errors/handler-errors.js';
import { ErrorResultException, RetryableResultException } from '../../errors/result-errors.js';
import { NonRetryableException, RetryableException } from '../../errors/retry-errors.js';
import { coded, pg } from '../faults/recorded-errors.spec-support.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { recordingLogger } from '../../pipeline/pipeline.spec-support.js';
import { DefaultExceptionClassifier } from './default-exception-classifier.js';

class PaymentError extends Error {}
class CardDeclined extends PaymentError {}

interface Given {
  readonly exceptionRouting?: readonly ResolvedExceptionRoute[];
  readonly nonRetryableExceptions?: readonly ErrorMatcher[];
  readonly retryableExceptions?: readonly ErrorMatcher[];
  readonly skipToTierMapping?: readonly { readonly match: ErrorMatcher; readonly tier: number }[];
  readonly tiers?: number;
}

function classifierFor({ exceptionRouting = [], tiers = 3, ...lists }: Given = {}) {
  const logger = recordingLogger();
  const retry = {
    ...lists,
    tiers: Array.from({ length: tiers }, (_, index) => ({ delayMs: 1_000 * (index + 1) })),
  };
  const binding = resolvedOrders({ exceptionRouting, retry });
  return { logger, classifier: new DefaultExceptionClassifier(binding, logger) };
}

/**
 * Returns the decision as text, such as `SKIP_TO_TIER 2`. A `!` marks a decision of the
 * application.
 */
function classified(error: Error, given: Given = {}): string {
  const { classifier } = classifierFor(given);
  const { decision, isExplicit } = classifier.classification(error);
  expect(classifier.classify(error)).toEqual(decision);
  const { routing, targetTier } = decision;
  return `${routing}${targetTier === -1 ? '' : ` ${targetTier}`}${isExplicit ? '!' : ''}`;
}

const unavailable = Object.assign(new Error('busy'), { status: 503 });
const refused = coded('ECONNREFUSED');
const duplicate = pg('23505');
const declined = new CardDeclined('no');

describe('DefaultExceptionClassifier without options of the application', () => {
  it.each<[string, Error, string]>([
    ['to the next tier: a dependency that is down', refused, 'NEXT_TIER'],
    ['to the next tier: a deadlock', pg('40P01'), 'NEXT_TIER'],
    ['to the next tier: an unknown error', new Error('boom'), 'NEXT_TIER'],
    ['to the next tier: a handler that asks for it', new RetryableException('x'), 'NEXT_TIER'],
    ['to tier 2: a failure that will last', unavailable, 'SKIP_TO_TIER 2'],
    ['to tier 2: an open circuit', new CircuitBreakerOpenException('orders'), 'SKIP_TO_TIER 2'],
    [
      'to tier 2: a failure that will last in the cause',
      new Error('x', { cause: unavailable }),
      'SKIP_TO_TIER 2',
    ],
    ['to the dead letters: a bad message', duplicate, 'DEAD_LETTER'],
    ['to the dead letters: no JSON', new DeserializationException('x'), 'DEAD_LETTER'],
    [
      'to the dead letters: a bad message in a batch',
      new BatchProcessingException(0, 'first', [], { cause: duplicate }),
      'DEAD_LETTER',
    ],
  ])('routes an error %s', (_, error, expected) => {
    expect(classified(error)).toBe(expected);
  });

  it('routes to the next tier if the binding has no tier 2', () => {
    expect(classified(unavailable, { tiers: 2 })).toBe('SKIP_TO_TIER 2');
    expect(classified(unavailable, { tiers: 1 })).toBe('NEXT_TIER');
    expect(classified(unavailable, { tiers: 0 })).toBe('NEXT_TIER');
  });

  it('returns the same decision in every tier, because the router never goes back a tier', () => {
    const { classifier } = classifierFor();
    expect(classifier.classify(unavailable, 3)).toEqual(ExceptionRoutingDecision.skipToTier(2));
  });
});

describe('A result or an error that names the destination', () => {
  it.each<[string, Error, string]>([
    ['a RetryableResult', new RetryableResultException('later', { cause: refused }), 'NEXT_TIER!'],
    ['an ErrorResult', new ErrorResultException('no', { cause: refused }), 'DEAD_LETTER!'],
    ['a NonRetryableException', new NonRetryableException('no'), 'DEAD_LETTER!'],
    ['around any cause', new NonRetryableException('no', { cause: refused }), 'DEAD_LETTER!'],
    [
      'not with a RetryableException',
      new RetryableException('x', { cause: duplicate }),
      'NEXT_TIER',
    ],
  ])('decides explicitly: %s', (_, error, expected) => {
    expect(classified(error)).toBe(expected);
  });

  it('is explicit even if retryableExceptions or nonRetryableExceptions matches all errors', () => {
    const all = { nonRetryableExceptions: [Error] };
    expect(classified(new RetryableResultException('later'), all)).toBe('NEXT_TIER!');
    expect(classified(new RetryableException('later'), all)).toBe('NEXT_TIER');
    const none = { retryableExceptions: [Error] };
    expect(classified(new ErrorResultException('no'), none)).toBe('DEAD_LETTER!');
  });

  it('is not explicit if one of the lists has a closer match', () => {
    const lists = { nonRetryableExceptions: [RetryableResultException] };
    expect(classified(new RetryableResultException('later'), lists)).toBe('DEAD_LETTER!');
  });
});

describe('retryableExceptions and nonRetryableExceptions', () => {
  it.each<[string, Given, Error, string]>([
    [
      'nonRetryableExceptions',
      { nonRetryableExceptions: [PaymentError] },
      declined,
      'DEAD_LETTER!',
    ],
    [
      'a match by code',
      { nonRetryableExceptions: [{ code: 'ECONNREFUSED' }] },
      refused,
      'DEAD_LETTER!',
    ],
    [
      'an error in the cause',
      { nonRetryableExceptions: [PaymentError] },
      new Error('failed', { cause: declined }),
      'DEAD_LETTER!',
    ],
    ['retryableExceptions', { retryableExceptions: [{ code: '23505' }] }, duplicate, 'NEXT_TIER'],
    [
      'an error that is not in retryableExceptions is routed as without the list',
      { retryableExceptions: [TypeError] },
      declined,
      'NEXT_TIER',
    ],
    [
      'the class of the error has priority over a superclass',
      { nonRetryableExceptions: [PaymentError], retryableExceptions: [CardDeclined] },
      declined,
      'NEXT_TIER',
    ],
    [
      'a superclass has no priority over the class of the error',
      { nonRetryableExceptions: [CardDeclined], retryableExceptions: [PaymentError] },
      declined,
      'DEAD_LETTER!',
    ],
    [
      'a message that cannot be deserialized is dead-lettered, whatever the lists contain',
      { retryableExceptions: [DeserializationException] },
      new DeserializationException('x'),
      'DEAD_LETTER',
    ],
    [
      'skipToTierMapping',
      { skipToTierMapping: [{ match: PaymentError, tier: 3 }] },
      declined,
      'SKIP_TO_TIER 3!',
    ],
    [
      'the closest entry of skipToTierMapping',
      {
        skipToTierMapping: [
          { match: PaymentError, tier: 3 },
          { match: CardDeclined, tier: 1 },
        ],
      },
      declined,
      'SKIP_TO_TIER 1!',
    ],
    [
      'an entry of skipToTierMapping that is closer than nonRetryableExceptions',
      {
        nonRetryableExceptions: [PaymentError],
        skipToTierMapping: [{ match: CardDeclined, tier: 2 }],
      },
      declined,
      'SKIP_TO_TIER 2!',
    ],
    [
      'an entry of skipToTierMapping instead of the tier for failures that will last',
      { skipToTierMapping: [{ match: { status: 503 }, tier: 3 }] },
      unavailable,
      'SKIP_TO_TIER 3!',
    ],
  ])('decide: %s', (_, given, error, expected) => {
    expect(classified(error, given)).toBe(expected);
  });
});

describe('exceptionRouting', () => {
  const one = (route: ResolvedExceptionRoute): Given => ({ exceptionRouting: [route] });

  it.each<[ResolvedExceptionRoute, string]>([
    [{ match: PaymentError, routing: 'NEXT_TIER' }, 'NEXT_TIER!'],
    [{ match: PaymentError, routing: 'SKIP_TO_TIER', tier: 3 }, 'SKIP_TO_TIER 3!'],
    [{ match: PaymentError, routing: 'DEAD_LETTER' }, 'DEAD_LETTER!'],
    [{ match: PaymentError, routing: 'PAUSE_CONTAINER' }, 'PAUSE_CONTAINER!'],
  ])('routes an error by the route %j', (route, expected) => {
    expect(classified(declined, one(route))).toBe(expected);
    expect(classified(new Error('another'), one(route))).toBe('NEXT_TIER');
  });

  it('has priority over both exception lists, however closely they match', () => {
    const given: Given = {
      ...one({ match: Error, routing: 'PAUSE_CONTAINER' }),
      nonRetryableExceptions: [CardDeclined],
    };
    expect(classified(declined, given)).toBe('PAUSE_CONTAINER!');
  });

  it('has priority over every rule of the library, also for messages that cannot be read', () => {
    const pause = (match: ErrorMatcher) => one({ match, routing: 'PAUSE_CONTAINER' });
    expect(classified(duplicate, pause({ code: '23505' }))).toBe('PAUSE_CONTAINER!');
    const unreadable = new DeserializationException('x');
    expect(classified(unreadable, pause(DeserializationException))).toBe('PAUSE_CONTAINER!');
    const result = new RetryableResultException('later');
    expect(classified(result, pause(RetryableResultException))).toBe('PAUSE_CONTAINER!');
  });

  it('decides by the closest match, and by the first of equally close ones', () => {
    const exceptionRouting = [
      { match: PaymentError, routing: 'DEAD_LETTER' },
      { match: CardDeclined, routing: 'NEXT_TIER' },
      { match: { matches: () => true }, routing: 'PAUSE_CONTAINER' },
      { match: { matches: () => true }, routing: 'DEAD_LETTER' },
    ] as const;
    expect(classified(declined, { exceptionRouting: exceptionRouting.slice(0, 2) })).toBe(
      'NEXT_TIER!',
    );
    expect(classified(declined, { exceptionRouting })).toBe('PAUSE_CONTAINER!');
  });

  it('skips an entry whose function throws, logs the error, and checks the other entries', () => {
    const matches = (): never => {
      throw Object.create(null);
    };
    const { classifier, logger } = classifierFor({
      exceptionRouting: [
        { match: { matches }, routing: 'DEAD_LETTER' },
        { match: PaymentError, routing: 'PAUSE_CONTAINER' },
      ],
    });
    expect(classifier.classify(declined).routing).toBe('PAUSE_CONTAINER');
    expect(logger.lines).toMatchObject([{ level: 'error', context: { binding: 'orders' } }]);
  });
});

describe('DefaultExceptionClassifier', () => {
  it('is frozen and keeps no state', () => {
    const { classifier } = classifierFor();
    expect(Object.isFrozen(classifier)).toBe(true);
    expect(classifier.classification(refused)).toBe(classifier.classification(coded('EPIPE')));
  });

  it('classifies an error whose properties throw', () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    expect(classified(proxy)).toBe('NEXT_TIER');
    const given = { exceptionRouting: [{ match: Error, routing: 'DEAD_LETTER' as const }] };
    expect(classified(proxy, given)).toBe('NEXT_TIER');
  });
});

describe("The preset 'brokers'", () => {
  const brokers = (error: Error): string => {
    const binding = resolvedOrders({ preset: 'brokers' });
    return new DefaultExceptionClassifier(binding, recordingLogger()).classify(error).routing;
  };
  const fetchFailed = (cause: Error) => new TypeError('fetch failed', { cause });

  it.each<[string, Error, string]>([
    ['a TypeError of a bug', new TypeError('x is not a function'), 'DEAD_LETTER'],
    [
      'a wrapped TypeError of a bug',
      new Error('failed', { cause: new TypeError('x') }),
      'DEAD_LETTER',
    ],
    ['fetch without a network', fetchFailed(refused), 'NEXT_TIER'],
    ['fetch for no known reason', fetchFailed(new Error('bad port')), 'NEXT_TIER'],
    ['a Java name', Object.assign(new Error(), { name: 'NullPointerException' }), 'DEAD_LETTER'],
    ['anything else', new RangeError('x'), 'NEXT_TIER'],
  ])('chooses the next tier or the dead-letter topic for %s', (_, error, routing) => {
    expect(brokers(error)).toBe(routing);
  });
});
