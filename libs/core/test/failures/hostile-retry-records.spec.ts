import { Injectable } from '@nestjs/common';
import fc from 'fast-check';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { hostileRetryRecords } from '../../src/failures/retry-topics/hostile-retry-records.spec-support.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const PARTITIONS = 40;
const DELAYS = { delayMs: 1_000, multiplier: 3, maxDelayMs: 3_600_000, maxAttempts: 3 };
/** Before the third delivery of the tier. */
const LONGEST_DELAY_MS = 9_000;

let testBus: TestBus;
let handledAt: Map<number, number>;

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder({ value, partition }: EventRecord<string>): Promise<void> {
    if (value === 'bad') throw new Error('no');
    if (value === 'good') handledAt.set(partition, testBus.runtime.now());
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  handledAt = new Map();
  for (const name of ['orders', 'orders.retry-1', 'orders.DLT'])
    await testBus.topic(name, PARTITIONS);
  const config = { 'message.timestamp.after.max.ms': '9000000000000000' };
  await testBus.done(testBus.outside.admin().alterTopicConfig('orders.retry-1', config));
});
afterEach(() => testBus.end());

describe('Records with hostile control headers in a retry topic', () => {
  it.each(['partition', 'key'] as const)(
    'hold up the record behind them no longer than the longest delay of the tier, by %s',
    async (by) => {
      const retry = { tier0: { maxAttempts: 1 }, tiers: [DELAYS] };
      await testBus.startOrders([Orders], { retry, processing: { by }, deserializer: 'text' });
      const now = testBus.runtime.now();
      const some = fc.array(hostileRetryRecords(now), { minLength: 1, maxLength: 6 });
      const hostile = fc.sample(some, { numRuns: PARTITIONS, seed: 5 });
      const good = { value: 'good', key: 'k', timestamp: now };
      const records = hostile.flatMap((list, partition) =>
        [...list, good].map((record) => ({ ...record, topic: 'orders.retry-1', partition })),
      );
      await testBus.done(testBus.outside.producer({ lingerMs: 0 }).send(records));
      await testBus.runtime.advance(60_000);
      const waits = [...handledAt.values()].map((at) => at - now);
      expect(waits).toHaveLength(PARTITIONS);
      expect(Math.max(...waits)).toBeLessThan(LONGEST_DELAY_MS + 2_000);
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(DELAYS.delayMs);
    },
  );
});
