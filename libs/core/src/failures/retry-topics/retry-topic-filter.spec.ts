import fc from 'fast-check';
import type { BrokerRecord } from '@nest-event-bus/broker';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedTier } from '../../config/resolving/resolved-binding.js';
import { RetryTopicFilter } from './retry-topic-filter.js';

const NOW = 1_000_000;
const warnings: string[] = [];
const contexts: unknown[] = [];
const quiet = (): void => undefined;
const logger = {
  debug: quiet,
  info: quiet,
  error: quiet,
  warn: (line: string, context?: object) => {
    warnings.push(line);
    contexts.push(context);
  },
};

function filterWith(
  tier: Partial<ResolvedTier> = {},
  runtime = new VirtualRuntime({ startAt: NOW }),
): RetryTopicFilter {
  const whole = { delayMs: 10_000, multiplier: 1, maxDelayMs: 3_600_000, maxAttempts: 3, ...tier };
  return new RetryTopicFilter({ tier: whole as ResolvedTier, groupId: 'shop', runtime, logger });
}

function record(headers: Readonly<Record<string, string>> = {}, timestamp = 900_000): BrokerRecord {
  return {
    topic: 'orders.retry-1',
    partition: 0,
    offset: 7,
    timestamp,
    key: null,
    value: null,
    leaderEpoch: 0,
    sizeInBytes: 0,
    headers: Object.entries(headers).map(([key, value]) => ({ key, value: Buffer.from(value) })),
  };
}

const retried = (attempt: number, at = 1_000_000) =>
  record({
    'x-eventbus-group-id': 'shop',
    'x-eventbus-retry-timestamp': String(at),
    'x-eventbus-retry-attempt': String(attempt),
  });

beforeEach(() => {
  warnings.length = 0;
  contexts.length = 0;
});

describe('A record in a retry topic', () => {
  it('is due when the delay of the tier has passed since the record was written', () => {
    expect(filterWith().dueAt(retried(1), NOW)).toBe(1_010_000);
    expect(filterWith().dueAt(retried(3), NOW)).toBe(1_010_000);
  });

  it('waits longer after each delivery if retry.tiers[] has a multiplier, up to maxDelayMs', () => {
    const growing = filterWith({ multiplier: 3, maxDelayMs: 60_000, maxAttempts: 9 });
    expect([1, 2, 3, 9].map((attempt) => growing.dueAt(retried(attempt), NOW))).toEqual([
      1_010_000, 1_030_000, 1_060_000, 1_060_000,
    ]);
  });

  it('waits for the delay of the tier even if maxDelayMs is shorter', () => {
    expect(filterWith({ maxDelayMs: 1_000 }).dueAt(retried(2), NOW)).toBe(1_010_000);
  });

  it.each(['', 'soon', '-5', '1e3', '99999999999999999999'])(
    'is due a delay after the Kafka timestamp if the header says "%s"',
    (text) => {
      const headers = { 'x-eventbus-retry-timestamp': text, 'x-eventbus-retry-attempt': text };
      expect(filterWith().dueAt(record(headers), NOW)).toBe(910_000);
    },
  );

  it('counts as a record of another group, and is due at once, if its header names another group', () => {
    const other = record({
      'x-eventbus-group-id': 'billing',
      'x-eventbus-retry-timestamp': '1000000',
    });
    expect(filterWith().isForeign(other)).toBe(true);
    expect(filterWith().dueAt(other, NOW)).toBe(0);
  });

  it('belongs to the binding if its header names the group of the binding, or is missing', () => {
    expect(filterWith().isForeign(retried(1))).toBe(false);
    expect(filterWith().isForeign(record())).toBe(false);
  });

  it('is logged once as a clock difference, with its size, if it was written in the future', () => {
    const filter = filterWith();
    filter.dueAt(retried(1, NOW + 59_999), NOW);
    expect(warnings).toEqual([]);
    filter.dueAt(retried(1, NOW + 61_000), NOW);
    filter.dueAt(retried(1, NOW + 62_000), NOW);
    expect(warnings).toHaveLength(1);
    expect(contexts).toMatchObject([{ aheadMs: 61_000, offset: 7 }]);
  });

  it('is due a delay after its Kafka timestamp if its header is in the future', () => {
    expect(filterWith().dueAt(retried(1, NOW + 1), NOW)).toBe(910_000);
    expect(filterWith().dueAt(retried(1, 1_700_000_000_000_000), NOW)).toBe(910_000);
  });

  it('is due a delay after it was read if all its times are in the future, also if it is read again', () => {
    const filter = filterWith();
    const unknown = (offset: number) => ({ ...record({}, NOW + 60_000), offset });
    expect(filter.dueAt(unknown(1), NOW)).toBe(1_010_000);
    expect(filter.dueAt(unknown(1), NOW + 4_000)).toBe(1_010_000);
    expect(filter.dueAt({ ...unknown(1), partition: 1 }, NOW + 4_000)).toBe(1_014_000);
    expect(filter.dueAt(unknown(2), NOW + 4_000)).toBe(1_014_000);
  });

  it('waits no longer than the last delivery of the tier, whatever its attempt header says', () => {
    const growing = filterWith({ multiplier: 3, maxDelayMs: 3_600_000, maxAttempts: 2 });
    expect([2, 3, 99, Number.MAX_SAFE_INTEGER].map((n) => growing.dueAt(retried(n), NOW))).toEqual([
      1_030_000, 1_030_000, 1_030_000, 1_030_000,
    ]);
  });

  it('is due within the longest delay of the tier after it was read, whatever its headers say', () => {
    const name = fc.constantFrom(
      'x-eventbus-retry-timestamp',
      'x-eventbus-retry-attempt',
      'x-eventbus-retry-tier',
      'x-eventbus-group-id',
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 12 }).map((value) => Buffer.from(value)),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }).map((number) => Buffer.from(`${number}`)),
      fc.integer({ min: NOW - 9, max: NOW + 90_000 }).map((time) => Buffer.from(`${time}`)),
    );
    const header = fc.record({ key: name, value: fc.option(bytes) });
    const timestamp = fc.oneof(
      fc.maxSafeInteger(),
      fc.integer({ min: NOW - 9, max: NOW + 90_000 }),
    );
    fc.assert(
      fc.property(fc.array(header, { maxLength: 6 }), timestamp, (headers, at) => {
        const growing = filterWith({ multiplier: 3, maxAttempts: 3 });
        const dueAt = growing.dueAt({ ...record({}, at), headers }, NOW);
        expect(dueAt).toBeLessThanOrEqual(NOW + 90_000);
      }),
    );
  });

  it('may have its headers as bytes', () => {
    const at = Buffer.alloc(8);
    at.writeBigInt64BE(990_000n);
    const headers = [{ key: 'x-eventbus-retry-timestamp', value: at }];
    expect(filterWith().dueAt({ ...record(), headers }, NOW)).toBe(1_000_000);
  });
});
