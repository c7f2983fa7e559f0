import type { BrokerRecord } from '@nest-event-bus/broker';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedTier } from '../../config/resolving/resolved-binding.js';
import { RetryTopicFilter } from './retry-topic-filter.js';

const warnings: string[] = [];
const quiet = (): void => undefined;
const logger = {
  debug: quiet,
  info: quiet,
  error: quiet,
  warn: (line: string) => void warnings.push(line),
};

function entrance(
  tier: Partial<ResolvedTier> = {},
  runtime = new VirtualRuntime({ startAt: 1_000_000 }),
): RetryTopicFilter {
  const whole = { delayMs: 10_000, multiplier: 1, maxDelayMs: 3_600_000, ...tier };
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

beforeEach(() => void warnings.splice(0));

describe('A record in a retry topic', () => {
  it('is due when the delay of the tier has passed since the write', () => {
    expect(entrance().dueAt(retried(1))).toBe(1_010_000);
    expect(entrance().dueAt(retried(3))).toBe(1_010_000);
  });

  it('waits longer with each delivery if retry.tiers[] has a multiplier, up to maxDelayMs', () => {
    const growing = entrance({ multiplier: 3, maxDelayMs: 60_000 });
    expect([1, 2, 3, 9].map((attempt) => growing.dueAt(retried(attempt)))).toEqual([
      1_010_000, 1_030_000, 1_060_000, 1_060_000,
    ]);
  });

  it('waits for the delay of the tier even if maxDelayMs is shorter', () => {
    expect(entrance({ maxDelayMs: 1_000 }).dueAt(retried(2))).toBe(1_010_000);
  });

  it.each(['', 'soon', '-5', '1e3', '99999999999999999999'])(
    'has waited since its timestamp if the header says "%s"',
    (text) => {
      const headers = { 'x-eventbus-retry-timestamp': text, 'x-eventbus-retry-attempt': text };
      expect(entrance().dueAt(record(headers))).toBe(910_000);
    },
  );

  it('of another group is foreign and due at once', () => {
    const other = record({
      'x-eventbus-group-id': 'billing',
      'x-eventbus-retry-timestamp': '1000000',
    });
    expect(entrance().isForeign(other)).toBe(true);
    expect(entrance().dueAt(other)).toBe(0);
  });

  it('belongs to the binding if it names its group, or none', () => {
    expect(entrance().isForeign(retried(1))).toBe(false);
    expect(entrance().isForeign(record())).toBe(false);
  });

  it('from the future is logged once as a clock difference', () => {
    const gate = entrance();
    gate.dueAt(retried(1, 1_059_999));
    expect(warnings).toEqual([]);
    expect(gate.dueAt(retried(1, 1_061_000))).toBe(1_071_000);
    gate.dueAt(retried(1, 1_062_000));
    expect(warnings).toHaveLength(1);
  });

  it('from an impossible future has waited since its timestamp', () => {
    const microseconds = 1_700_000_000_000_000;
    expect(entrance().dueAt(retried(1, microseconds))).toBe(910_000);
    expect(warnings).toHaveLength(1);
  });

  it('without a plausible time waits from when it was first seen', async () => {
    const runtime = new VirtualRuntime({ startAt: 1_000_000 });
    const gate = entrance({}, runtime);
    const unknown = (offset: number) => ({ ...record({}, 9_000_000_000_000), offset });
    expect(gate.dueAt(unknown(1))).toBe(1_010_000);
    await runtime.advance(4_000);
    expect(gate.dueAt(unknown(1))).toBe(1_010_000);
    expect(gate.dueAt({ ...unknown(1), partition: 1 })).toBe(1_014_000);
    expect(gate.dueAt(unknown(2))).toBe(1_014_000);
  });

  it('may have its headers as bytes', () => {
    const at = Buffer.alloc(8);
    at.writeBigInt64BE(990_000n);
    const headers = [{ key: 'x-eventbus-retry-timestamp', value: at }];
    expect(entrance().dueAt({ ...record(), headers })).toBe(1_000_000);
  });
});
