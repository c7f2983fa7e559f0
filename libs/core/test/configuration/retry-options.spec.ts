import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const SECOND = 1_000;

let testBus: TestBus;
let calls: { readonly at: number; readonly call: number; readonly delivery: number }[];

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(_: EventRecord, { attempt: { call, delivery } }: EventContext): never {
    calls.push({ at: testBus.runtime.now(), call, delivery });
    throw new Error('nobody has seen this before');
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  calls = [];
  for (const topic of ['orders', 'orders.retry-1', 'orders.DLT']) await testBus.topic(topic);
});

afterEach(() => testBus.end());

const waits = (): readonly number[] =>
  calls.slice(1).map(({ at }, index) => (at - calls[index]!.at) / SECOND);

async function failWith(retry: object): Promise<void> {
  await testBus.startOrders([Orders], { retry, maxPollRecords: 1 });
  await testBus.write('orders', '1');
  await testBus.runtime.advance(1_200 * SECOND);
  expect(await testBus.records('orders.DLT')).toHaveLength(1);
}

describe('retry.tier0', () => {
  const TIER0 = {
    maxAttempts: 5,
    initialBackoffMs: '3s',
    multiplier: 3,
    maxBackoffMs: '20s',
    jitter: 'none',
  };

  it('sets the calls and waits: maxAttempts, initialBackoffMs, multiplier, maxBackoffMs, jitter', async () => {
    await failWith({ tiers: [], tier0: TIER0 });
    expect(waits()).toEqual([3, 9, 20, 20]);
  });
});

describe('retry.mode', () => {
  it.each([
    ['in-line', [1, 2, 3], [1, 1, 1]],
    ['seek', [1, 1, 1], [1, 2, 3]],
  ])(
    '%s makes the calls in one delivery, or one delivery for each',
    async (mode, call, delivery) => {
      await failWith({ tiers: [], mode });
      expect(calls.map((each) => each.call)).toEqual(call);
      expect(calls.map((each) => each.delivery)).toEqual(delivery);
    },
  );
});

describe('retry.tiers[]', () => {
  it('delays by delayMs, which multiplier lets grow up to maxDelayMs, for maxAttempts', async () => {
    const tier = { delayMs: '60s', multiplier: 3, maxDelayMs: '240s', maxAttempts: 4 };
    await failWith({ tier0: { maxAttempts: 1 }, tiers: [tier] });
    expect(waits().map(Math.round)).toEqual([60, 180, 240, 240]);
  });
});
