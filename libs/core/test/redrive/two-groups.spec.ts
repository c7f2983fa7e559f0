import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { DltReplayService } from '../../src/redrive/dlt-replay-service.js';
import { TestBus } from '../support/test-bus.spec-support.js';
import { AT_ONCE } from './redrive-test-bus.spec-support.js';

const handled: string[] = [];
let isCured = false;
let testBus: TestBus;

@Injectable()
class Shop {
  @EventHandler('orders')
  async onOrder({ value }: EventRecord): Promise<void> {
    handled.push(`shop ${String(value)}`);
    if (!isCured && value === 2) throw new Error('the warehouse does not answer');
  }
}

@Injectable()
class Billing {
  @EventHandler('invoices')
  async onOrder({ value }: EventRecord): Promise<void> {
    handled.push(`billing ${String(value)}`);
  }
}

@Injectable()
class BillingInBatches {
  @EventHandler.Batch('invoices')
  async onOrders(records: readonly EventRecord[]): Promise<void> {
    for (const { value } of records) handled.push(`billing ${String(value)}`);
  }
}

async function start(billing: new () => object, properties: object = {}) {
  handled.length = 0;
  isCured = false;
  testBus = new TestBus();
  for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic);
  const bindings = {
    orders: { ...AT_ONCE, topic: 'orders', groupId: 'shop', ...properties },
    invoices: { ...AT_ONCE, topic: 'orders', groupId: 'billing', ...properties },
  };
  return testBus.start({ imports: [testBus.module({ bindings })], providers: [Shop, billing] });
}

afterEach(() => testBus.end());

describe('A record that was replayed to the main topic', () => {
  it.each([
    ['a handler of records', Billing, {}],
    ['a batch handler', BillingInBatches, {}],
    ['a handler by key', Billing, { processing: { by: 'key' } }],
  ])('is not handled again by %s of another group', async (_, billing, properties) => {
    const application = await start(billing, properties);
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(2_000);
    isCured = true;
    const replay = application.get(DltReplayService);
    const run = replay.replay('orders', { all: true });
    expect(await testBus.done(Promise.resolve(run))).toMatchObject({ replayed: 1 });
    await testBus.write('orders', '4');
    await testBus.runtime.advance(2_000);
    const of = (group: string) => handled.filter((each) => each.startsWith(group)).toSorted();
    expect(of('shop')).toEqual(['shop 1', 'shop 2', 'shop 2', 'shop 3', 'shop 4']);
    expect(of('billing')).toEqual(['billing 1', 'billing 2', 'billing 3', 'billing 4']);
    // The group passes the record, so that it does not wait there.
    expect(await testBus.committed('billing')).toBe(await testBus.committed('shop'));
  });

  it('is no reason to skip another event with copied headers', async () => {
    const application = await start(Billing);
    await testBus.write('orders', '2');
    await testBus.runtime.advance(2_000);
    isCured = true;
    const run = application.get(DltReplayService).replay('orders', { all: true });
    await testBus.done(Promise.resolve(run));
    const replayed = (await testBus.records('orders')).at(-1)!;
    await testBus.write('orders', { value: '5', headers: replayed.headers });
    await testBus.runtime.advance(2_000);
    expect(handled).toContain('billing 5');
    expect(handled.filter((each) => each === 'billing 2')).toHaveLength(1);
  });

  it('shows only letters of its own group', async () => {
    const application = await start(Billing);
    await testBus.write('orders', '2');
    await testBus.runtime.advance(2_000);
    const replay = application.get(DltReplayService);
    const { letters } = await testBus.done(replay.list('invoices'));
    expect(letters).toEqual([]);
    expect(await testBus.done(replay.plan('invoices', { all: true }))).toMatchObject({
      selected: 0,
      skipped: { 'other-binding': 1 },
    });
  });
});
