import { complaintsOf, resolvedOrders } from '../../configuration.spec-support.js';

class Timeout extends Error {}
class Fine extends Error {}

const complaints = (properties: object, options: object = {}) =>
  complaintsOf(() => resolvedOrders(properties, { errorTypes: { Timeout, Fine }, ...options }));
const tiers = (...delays: number[]) => ({ tiers: delays.map((delayMs) => ({ delayMs })) });

describe('STRICT_TIERS', () => {
  it('refuses retry topics with STRICT ordering', () => {
    expect(complaints({ orderingMode: 'STRICT', retry: tiers(1_000) })).toEqual([
      "STRICT_TIERS bindings.orders.retry.tiers: cannot be used with STRICT ordering, because a record in a retry topic is overtaken: orderingMode is 'STRICT' (from the options), retry.tiers is a list of 1 (from the options). Set retry.tiers to [] or orderingMode to 'RELAXED_IN_RETRY'.",
    ]);
  });

  it("refuses retry topics of the application's defaults, too", () => {
    const [complaint] = complaints({ orderingMode: 'STRICT' }, { defaults: { retry: tiers(1) } });
    expect(complaint).toContain('retry.tiers is a list of 1 (from the defaults of the options)');
  });

  it('accepts STRICT ordering without tiers', () => {
    expect(complaints({ orderingMode: 'STRICT' })).toEqual([]);
    expect(complaints({ orderingMode: 'STRICT', retry: { tiers: [] } })).toEqual([]);
    expect(complaints({ orderingMode: 'STRICT', preset: 'strategy' })).toEqual([]);
  });
});

describe('TIER_DELAYS', () => {
  it('refuses a tier whose delay is not longer than that of the previous tier', () => {
    expect(complaints({ retry: tiers(1_000, 1_000, 500) })).toEqual([
      "TIER_DELAYS bindings.orders.retry.tiers[1].delayMs: tier 2 must wait longer than tier 1: 1000 ms after 1000 ms. Raise it, or leave the tier out (equal delays are for preset 'resilient').",
      "TIER_DELAYS bindings.orders.retry.tiers[2].delayMs: tier 3 must wait longer than tier 2: 500 ms after 1000 ms. Raise it, or leave the tier out (equal delays are for preset 'resilient').",
    ]);
  });

  it('allows equal delays, but no shorter ones, for preset resilient', () => {
    expect(complaints({ preset: 'resilient', retry: tiers(5_000, 5_000, 5_000) })).toEqual([]);
    expect(complaints({ preset: 'resilient', retry: tiers(5_000, 4_000) })).toEqual([
      'TIER_DELAYS bindings.orders.retry.tiers[1].delayMs: tier 2 must wait at least as long as tier 1: 4000 ms after 5000 ms. Raise it.',
    ]);
  });
});

describe('MOST_TIERS', () => {
  const delays = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  it('refuses more tiers than fit into the headers', () => {
    expect(complaints({ retry: tiers(...delays(100)) })).toEqual([]);
    expect(complaints({ retry: tiers(...delays(101)) })).toEqual([
      'MOST_TIERS bindings.orders.retry.tiers: must have no more than 100 entries: each is a retry topic and adds headers to the record; got 101. Leave tiers out, or give one of them more maxAttempts.',
    ]);
  });
});

describe('EXCEPTION_OVERLAP', () => {
  class ReadTimeout extends Timeout {}
  const matches = (): boolean => true;

  it.each<[string, unknown, unknown]>([
    ['a class and itself', Timeout, Timeout],
    ['a class and its name', Timeout, 'Timeout'],
    ['a name and { name }', 'Timeout', { name: 'Timeout' }],
  ])('refuses %s in both lists', (_, one, other) => {
    const retry = { retryableExceptions: [one], nonRetryableExceptions: ['Fine', other] };
    expect(complaints({ retry })).toEqual([
      'EXCEPTION_OVERLAP bindings.orders.retry.nonRetryableExceptions: Timeout is also in retry.retryableExceptions, which says the opposite. Remove it from one of the two.',
    ]);
  });

  it('refuses an error that is never retried and yet skips to a tier', () => {
    const retry = {
      nonRetryableExceptions: [{ code: 503 }],
      skipToTierMapping: [{ match: { code: 503 }, tier: 1 }],
    };
    expect(complaints({ retry })).toEqual([
      'EXCEPTION_OVERLAP bindings.orders.retry.nonRetryableExceptions: code 503 is also in retry.skipToTierMapping, which says the opposite. Remove it from one of the two.',
    ]);
  });

  it('accepts a class and its subclass, because the more specific one decides', () => {
    const retry = { retryableExceptions: [ReadTimeout], nonRetryableExceptions: [Timeout] };
    expect(complaints({ retry })).toEqual([]);
  });

  it('does not compare functions', () => {
    const retry = { retryableExceptions: [{ matches }], nonRetryableExceptions: [{ matches }] };
    expect(complaints({ retry })).toEqual([]);
  });
});

describe('SKIP_TO_TIER', () => {
  const skip = (tier: number) => ({ skipToTierMapping: [{ match: 'Timeout', tier }] });
  const complaintFor = (what: string) =>
    `SKIP_TO_TIER bindings.orders.retry.skipToTierMapping[0].tier: ${what}. Name a tier that exists or add it to retry.tiers.`;

  it('accepts an existing tier and refuses a missing one', () => {
    expect(complaints({ retry: skip(3) })).toEqual([]);
    expect(complaints({ retry: skip(4) })).toEqual([
      complaintFor('skips to tier 4, but the binding has only 3'),
    ]);
    expect(complaints({ retry: { ...skip(1), tiers: [] } })).toEqual([
      complaintFor('skips to tier 1, but the binding has no tiers'),
    ]);
    expect(complaints({ retry: skip(1), orderingMode: 'STRICT' })).toEqual([
      complaintFor('skips to tier 1, but the binding has no tiers, since the ordering is STRICT'),
    ]);
  });

  it('refuses an entry without an error or without a tier', () => {
    const retry = { skipToTierMapping: [{ tier: 1 }, { match: 'Timeout' }] };
    expect(complaints({ retry })).toEqual([
      "REQUIRED bindings.orders.retry.skipToTierMapping[0].match: is missing: an entry names an error and the tier it skips to. Write { match: 'TimeoutError', tier: 1 }.",
      "REQUIRED bindings.orders.retry.skipToTierMapping[1].tier: is missing: an entry names an error and the tier it skips to. Write { match: 'TimeoutError', tier: 1 }.",
    ]);
  });

  it('refuses an error that is listed twice', () => {
    const retry = {
      skipToTierMapping: [
        { match: 'Timeout', tier: 1 },
        { match: { name: 'Timeout' }, tier: 2 },
      ],
    };
    expect(complaints({ retry })).toEqual([
      'SKIP_TO_TIER_TWICE bindings.orders.retry.skipToTierMapping[1].match: names Timeout a second time; entry 0 has it already. Remove one of them.',
    ]);
  });
});
