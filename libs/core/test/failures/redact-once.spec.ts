import { Injectable } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let calls: number;
let redacted: string[];

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): never {
    throw new Error(`no stock (call ${++calls})`);
  }
}

const dlt = {
  redact: ({ message }: Error) => {
    redacted.push(message);
    return { message: 'redacted' };
  },
};

beforeEach(async () => {
  testBus = new TestBus();
  calls = 0;
  redacted = [];
  for (const topic of ['orders', 'orders.retry-1', 'orders.DLT']) await testBus.topic(topic);
});
afterEach(() => testBus.end());

describe('dlt.redact', () => {
  const oneTier = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] };
  const noTier = { tier0: { maxAttempts: 1 }, tiers: [] };

  it('is called once for each failure on the way to the dead-letter topic', async () => {
    await testBus.startOrders([Orders], { retry: oneTier, dlt });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10_000);
    expect(await testBus.records('orders.DLT')).toHaveLength(1);
    expect(redacted).toEqual(['no stock (call 1)', 'no stock (call 2)']);
  });

  it('is called once for each failure of a record that stays in its place', async () => {
    const retry = { ...noTier, tier0: { maxAttempts: 3 }, mode: 'seek' };
    await testBus.startOrders([Orders], { retry, dlt });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(60_000);
    expect(await testBus.records('orders.DLT')).toHaveLength(1);
    expect(redacted).toEqual(['no stock (call 1)', 'no stock (call 2)', 'no stock (call 3)']);
  });

  it('is not called again while the write to the dead-letter topic is repeated', async () => {
    const fault = testBus.broker.faults.refuse(
      { operation: 'produce', topic: 'orders.DLT' },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    await testBus.startOrders([Orders], { retry: noTier, dlt });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(60_000);
    fault.lift();
    await testBus.runtime.advance(60_000);
    expect(await testBus.records('orders.DLT')).toHaveLength(1);
    expect(redacted).toEqual(['no stock (call 1)']);
  });

  it('is not called again for a dead letter that an operator decides about', async () => {
    const application = await testBus.startOrders([Orders], {
      retry: noTier,
      dlt,
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
    });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    const partition = { topic: 'orders', partition: 0 };
    const connector = application.get(EventBusConnector);
    await testBus.done(connector.decide('orders', partition, 'dead-letter'));
    await testBus.runtime.advance(1_000);
    expect(await testBus.records('orders.DLT')).toHaveLength(1);
    expect(redacted).toEqual(['no stock (call 1)']);
  });
});
