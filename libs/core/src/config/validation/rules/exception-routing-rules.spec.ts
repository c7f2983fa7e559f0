import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

class Timeout extends Error {}

const resolved = (...exceptionRouting: object[]) =>
  resolvedOrders({ exceptionRouting: exceptionRouting as never }, { errorTypes: { Timeout } });
const complaints = (...exceptionRouting: object[]) =>
  complaintsOf(() => resolved(...exceptionRouting));
const at = (rule: string, key: string, message: string) =>
  `${rule} bindings.orders.exceptionRouting[0].${key}: ${message}`;

describe('exceptionRouting', () => {
  it('accepts the four routings, and classes for names', () => {
    const routes = [
      { match: 'Timeout', routing: 'SKIP_TO_TIER', tier: 3 },
      { match: { status: 409 }, routing: 'NEXT_TIER' },
      { match: { code: 'E1' }, routing: 'DEAD_LETTER' },
      { match: RangeError, routing: 'PAUSE_CONTAINER' },
    ];
    const { exceptionRouting } = resolved(...routes);
    expect(exceptionRouting).toEqual([{ ...routes[0], match: Timeout }, ...routes.slice(1)]);
    expect(Object.isFrozen(exceptionRouting)).toBe(true);
  });

  it('requires an error and a routing', () => {
    const message =
      "is missing: an entry names an error and where its records go. Write { match: 'TimeoutError', routing: 'NEXT_TIER' }.";
    expect(complaints({ routing: 'NEXT_TIER' })).toEqual([at('REQUIRED', 'match', message)]);
    expect(complaints({ match: Timeout })).toEqual([at('REQUIRED', 'routing', message)]);
  });

  it('refuses an unknown routing', () => {
    expect(complaints({ match: Timeout, routing: 'SKIP' })).toEqual([
      at(
        'CHOICE',
        'routing',
        "must be one of 'NEXT_TIER', 'SKIP_TO_TIER', 'DEAD_LETTER', 'PAUSE_CONTAINER'; got 'SKIP'.",
      ),
    ]);
  });

  it.each([{ status: 200 }, { status: '503' }, { status: 503, code: 1 }])(
    'refuses a matcher that matches no failure: %j',
    (match) => {
      expect(complaints({ match, routing: 'NEXT_TIER' })[0]).toBe(
        at(
          'ERROR_MATCHER',
          'match',
          'must be an error class, the name of one, { name }, { code }, { status } or { matches: (error) => boolean }; got an object.',
        ),
      );
    },
  );

  it('refuses an unknown name of an error', () => {
    expect(complaints({ match: 'Zzz', routing: 'NEXT_TIER' })).toEqual([
      at(
        'UNKNOWN_ERROR_TYPE',
        'match',
        "there is no error type 'Zzz'. Register its class in the options, errorTypes: { Zzz }, or write { name: 'Zzz' } to match by name without a class.",
      ),
    ]);
  });

  it.each(['NEXT_TIER', 'DEAD_LETTER', 'PAUSE_CONTAINER'])('refuses a tier with %s', (routing) => {
    expect(complaints({ match: Timeout, routing, tier: 1 })).toEqual([
      at(
        'EXCEPTION_ROUTING',
        'tier',
        `is for SKIP_TO_TIER only, and the routing is ${routing}. Remove it.`,
      ),
    ]);
  });

  it('requires an existing tier with SKIP_TO_TIER', () => {
    const skip = { match: Timeout, routing: 'SKIP_TO_TIER' };
    expect(complaints(skip)).toEqual([
      at(
        'EXCEPTION_ROUTING',
        'tier',
        'is missing: SKIP_TO_TIER needs a tier to skip to. Add tier: 2.',
      ),
    ]);
    expect(complaints({ ...skip, tier: 4 })).toEqual([
      at(
        'EXCEPTION_ROUTING',
        'tier',
        'skips to tier 4, but the binding has only 3. Name a tier that exists or add it to retry.tiers.',
      ),
    ]);
  });

  it('refuses an error that is listed twice', () => {
    const routes = [
      { match: 'Timeout', routing: 'NEXT_TIER' },
      { match: { name: 'Timeout' }, routing: 'DEAD_LETTER' },
    ];
    expect(complaints(...routes)).toEqual([
      'EXCEPTION_ROUTING_TWICE bindings.orders.exceptionRouting[1].match: names Timeout a second time; entry 0 has it already. Remove one of them.',
    ]);
  });

  it('accepts an error that is not retryable in memory: one option decides how often, the other where', () => {
    const retry = { nonRetryableExceptions: [Timeout] };
    const exceptionRouting = [{ match: Timeout, routing: 'NEXT_TIER' }] as const;
    expect(complaintsOf(() => resolvedOrders({ retry, exceptionRouting }))).toEqual([]);
  });
});

describe('The option classifier', () => {
  it.each<[string, unknown, string]>([
    ['a text', 'MyClassifier', "'MyClassifier'"],
    ['a class', class MyClassifier {}, 'the class MyClassifier'],
    ['a function', () => undefined, 'a function'],
    ['an object without classify', {}, 'an object'],
  ])('cannot be %s', (_, classifier, shown) => {
    expect(complaintsOf(() => resolvedOrders({ classifier: classifier as never }))).toEqual([
      `REFERENCE bindings.orders.classifier: must be an object with a method classify(error, currentTier); got ${shown}.`,
    ]);
  });
});
