import { isProgrammingError } from '../../failures/faults/is-programming-error.js';
import { resolvedOrders } from '../configuration.spec-support.js';
import { PRESET_NAMES, type PresetName } from './preset-name.js';
import { PRESETS } from './presets.js';

/** Documented values of each preset, for those that are options of the bus. */
const PART_A = {
  connector: {
    jitter: 'capped',
    deadLetters: 'orders.events.DLT',
    calls: 3,
    backoff: [100, 2, 2_000],
    tiers: ['orders.events.retry-1', 'orders.events.retry-2', 'orders.events.retry-3'],
    mode: 'in-line',
    concurrency: 1,
    maxPollRecords: 50,
    session: [45_000, 10_000],
    headers: ['eventbus'],
  },
  strategy: {
    jitter: 'none',
    deadLetters: 'orders.events.DLT',
    calls: 4,
    backoff: [1_000, 2, 30_000],
    tiers: [],
    mode: 'seek',
    concurrency: 1,
    maxPollRecords: 50,
    session: [45_000, 10_000],
    headers: ['spring'],
  },
  'strategy-financial': {
    jitter: 'none',
    deadLetters: 'orders.events.DLT',
    calls: 6,
    backoff: [5_000, 2, 60_000],
    tiers: [],
    mode: 'seek',
    concurrency: 1,
    maxPollRecords: 50,
    session: [45_000, 10_000],
    headers: ['spring'],
  },
  'strategy-notification': {
    jitter: 'none',
    deadLetters: 'orders.events.DLT',
    calls: 4,
    backoff: [1_000, 2, 10_000],
    tiers: [],
    mode: 'seek',
    concurrency: 1,
    maxPollRecords: 50,
    session: [45_000, 10_000],
    headers: ['spring'],
  },
  'strategy-reconciliation': {
    jitter: 'none',
    deadLetters: 'orders.events.DLT',
    calls: 1,
    backoff: undefined,
    tiers: [],
    mode: 'in-line',
    concurrency: 1,
    maxPollRecords: 50,
    session: [45_000, 10_000],
    headers: ['spring'],
  },
  brokers: {
    jitter: 'none',
    deadLetters: 'orders.events-dlq',
    calls: 4,
    backoff: [1_000, 2, 30_000],
    tiers: [],
    mode: 'seek',
    concurrency: 3,
    maxPollRecords: 500,
    session: [30_000, 10_000],
    headers: ['plain'],
  },
  resilient: {
    jitter: 'none',
    deadLetters: 'orders.events.error',
    calls: 1,
    backoff: undefined,
    tiers: [],
    mode: 'in-line',
    concurrency: 1,
    maxPollRecords: 50,
    session: [45_000, 10_000],
    headers: ['eventbus'],
  },
} as const satisfies Record<PresetName, unknown>;

describe('A preset', () => {
  it.each(PRESET_NAMES)('%s passes validation and has the documented values', (preset) => {
    const binding = resolvedOrders({ preset });
    const { tier0, tiers, mode } = binding.retry;
    const backoff = [tier0.initialBackoffMs, tier0.multiplier, tier0.maxBackoffMs];
    const expected = PART_A[preset];
    expect({
      deadLetters: binding.dlt.topic,
      calls: tier0.maxAttempts,
      // With a single call there is no backoff, so its default values do not matter.
      backoff: tier0.maxAttempts === 1 ? undefined : backoff,
      jitter: tier0.jitter,
      tiers: tiers.map(({ topic }) => topic),
      mode,
      concurrency: binding.concurrency,
      maxPollRecords: binding.maxPollRecords,
      session: [binding.sessionTimeoutMs, binding.heartbeatIntervalMs],
      headers: binding.dlt.headerProfile,
    }).toEqual(expected);
    expect(binding).toMatchObject({
      preset,
      offsetReset: 'earliest',
      ackMode: 'MANUAL_IMMEDIATE',
      circuitBreaker: { enabled: false },
    });
  });

  it.each(PRESET_NAMES)(
    '%s passes validation if all bindings use it, and for a batch listener',
    (preset) => {
      expect(resolvedOrders({ listenerType: 'BATCH' }, { defaults: { preset } }).preset).toBe(
        preset,
      );
    },
  );

  it.each([
    'deal.events',
    'escrow.commands',
    'escrow.confirmations',
    'delivery.commands',
    'delivery.results',
    'notifications.outbox',
    'deal.deadlines',
    'reconciliation.triggers',
  ])("'strategy' names the dead-letter topic of %s after that topic", (topic) => {
    expect(resolvedOrders({ preset: 'strategy', topic }).dlt.topic).toBe(`${topic}.DLT`);
  });

  it("'connector' reads 200 records per poll for a batch listener", () => {
    const batch = { preset: 'connector', listenerType: 'BATCH' } as const;
    expect(resolvedOrders(batch).maxPollRecords).toBe(200);
  });

  it("'brokers' trusts only the types of its own system by default", () => {
    const types = { 'com.extractor.unraveldocs.ocr.Done': class {} };
    const { deserializer, typedJson } = resolvedOrders({ preset: 'brokers', typedJson: { types } });
    expect(deserializer).toBe('typed-json');
    expect(typedJson).toEqual({ types, trustedPackages: ['com.extractor.unraveldocs.*'] });
    const own = { types: { 'com.shop.Order': class {} }, trustedPackages: ['com.shop'] };
    expect(resolvedOrders({ preset: 'brokers', typedJson: own }).typedJson).toEqual(own);
  });

  it("'brokers' stops retrying after 90 s", () => {
    expect(resolvedOrders({ preset: 'brokers' }).retry.tier0.maxElapsedMs).toBe(90_000);
    expect(resolvedOrders({ preset: 'strategy' }).retry.tier0.maxElapsedMs).toBe(0);
  });

  it("'brokers' never retries programming errors, by name or by predicate", () => {
    expect(resolvedOrders({ preset: 'brokers' }).retry.nonRetryableExceptions).toEqual([
      'IllegalArgumentException',
      'NullPointerException',
      'ClassCastException',
      { matches: isProgrammingError },
    ]);
  });

  it('gives its topic suffix also to the tiers that a binding sets', () => {
    const topics = (preset: PresetName, delays: readonly number[]) =>
      resolvedOrders({
        preset,
        retry: { tiers: delays.map((delayMs) => ({ delayMs })) },
      }).retry.tiers.map(({ topic, maxAttempts }) => [topic, maxAttempts]);
    expect(topics('resilient', [5_000, 5_000])).toEqual([
      ['orders.events.retry.1', 1],
      ['orders.events.retry.2', 1],
    ]);
    expect(topics('brokers', [1_000])).toEqual([['orders.events-retry', 3]]);
    expect(topics('strategy', [1_000])).toEqual([['orders.events.retry-1', 3]]);
  });

  it('is deeply frozen', () => {
    expect(Object.isFrozen(PRESETS)).toBe(true);
    expect(Object.isFrozen(PRESETS.brokers.binding.retry?.tier0)).toBe(true);
  });
});
