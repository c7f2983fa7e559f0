import { Injectable } from '@nestjs/common';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const SECOND = 1_000;

let testBus: TestBus;
let calls: number[];
let takesMs: number;

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder(): Promise<never> {
    calls.push(Math.round(testBus.runtime.monotonic() / SECOND));
    await new Promise<void>((resolve) => testBus.runtime.setTimer(resolve, takesMs));
    throw new Error('the service did not answer');
  }
}

beforeEach(() => {
  testBus = new TestBus();
  calls = [];
});

afterEach(() => testBus.end());

/** Returns how many calls the record gets before it becomes a dead letter. */
async function callsUntilDeadLetter(
  handlerMs: number,
  properties: Partial<TopicBindingProperties>,
): Promise<number> {
  takesMs = handlerMs;
  await testBus.topic('orders');
  await testBus.topic('orders-dlq');
  await testBus.startOrders([Orders], { maxPollRecords: 1, ...properties });
  await testBus.write('orders', { value: '1' });
  while ((await testBus.records('orders-dlq')).length === 0) await testBus.runtime.advance(SECOND);
  return calls.length;
}

describe('The preset brokers', () => {
  it('makes four calls of a quick handler', async () => {
    expect(await callsUntilDeadLetter(SECOND, { preset: 'brokers' })).toBe(4);
  });

  it('makes no call that begins later than 90 s after the first failure', async () => {
    expect(await callsUntilDeadLetter(60 * SECOND, { preset: 'brokers' })).toBe(3);
  });
});

describe('retry.tier0.maxElapsedMs', () => {
  const dlt = { topic: 'orders-dlq' };

  it.each(['in-line', 'seek'] as const)('limits the time of the calls with %s', async (mode) => {
    const tier0 = {
      maxAttempts: 9,
      initialBackoffMs: SECOND,
      maxBackoffMs: SECOND,
      jitter: 'none',
    } as const;
    const limited = { mode, tiers: [], tier0: { ...tier0, maxElapsedMs: 20 * SECOND } };
    expect(await callsUntilDeadLetter(9 * SECOND, { dlt, retry: limited })).toBe(3);
  });
});
