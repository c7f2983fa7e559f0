import { Injectable } from '@nestjs/common';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const PARTITIONS = 2;
const RETRY = {
  tier0: { maxAttempts: 4, initialBackoffMs: 1_000, multiplier: 1, jitter: 'none' },
  tiers: [],
} as const;

let testBus: TestBus;
/** `attempt.total` of each call, by partition. */
let totals: number[][];

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ partition }: EventRecord, { attempt }: EventContext): Promise<never> {
    totals[partition]!.push(attempt.total);
    throw new RangeError('the warehouse does not answer');
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  totals = Array.from({ length: PARTITIONS }, () => []);
  for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic, PARTITIONS);
});
afterEach(() => testBus.end());

const start = (properties: object = {}) =>
  testBus.startOrders([Orders], { retry: RETRY, ...properties });

async function writeToAll(): Promise<void> {
  for (let partition = 0; partition < PARTITIONS; partition++)
    await testBus.write('orders', { partition, key: 'k', value: '1' });
  await testBus.runtime.advance(1_300);
}

/** Each call has the next number, and the dead letters have the number of all calls. */
async function expectAllCallsToBeCounted(): Promise<void> {
  await testBus.runtime.advance(30_000);
  const letters = (await testBus.records('orders.DLT')).map(readDeadLetter);
  expect(letters).toHaveLength(PARTITIONS);
  for (const calls of totals) expect(calls).toEqual(calls.map((_, index) => index + 1));
  const counted = letters.map(({ originalPartition, totalAttempts }) => [
    originalPartition,
    totalAttempts,
  ]);
  expect(new Map(counted as [number, number][])).toEqual(
    new Map(totals.map((calls, partition) => [partition, calls.length])),
  );
}

describe('The attempts of a record that is retried in memory', () => {
  it.each(['partition', 'key'] as const)(
    'are counted on if a rebalance moves its partition to another application, by %s',
    async (by) => {
      await start({ processing: { by } });
      await writeToAll();
      const before = totals.map(({ length }) => length);
      await start({ processing: { by } });
      await expectAllCallsToBeCounted();
      expect(before.every((calls) => calls > 0 && calls < 4)).toBe(true);
      expect(Math.max(...totals.map(({ length }) => length))).toBeGreaterThan(4);
    },
  );

  it('are counted on after a restart, and after two', async () => {
    for (const isFirst of [true, false]) {
      const application = await start();
      if (isFirst) await writeToAll();
      else await testBus.runtime.advance(1_300);
      await testBus.done(application.close());
    }
    await start();
    await expectAllCallsToBeCounted();
    expect(Math.min(...totals.map(({ length }) => length))).toBeGreaterThan(6);
  });

  it('are counted on if the wait for the next call is cancelled by a pause', async () => {
    const application = await start();
    await writeToAll();
    const lifecycle = application.get(LifecycleManager, { strict: false });
    await testBus.done(lifecycle.pause('orders'));
    await testBus.runtime.advance(1_000);
    await testBus.done(lifecycle.resume('orders'));
    await expectAllCallsToBeCounted();
    expect(Math.min(...totals.map(({ length }) => length))).toBeGreaterThan(4);
  });
});
