import { Injectable } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let bus: TestBus;
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
  bus = new TestBus();
  calls = 0;
  redacted = [];
  for (const topic of ['orders', 'orders.retry-1', 'orders.DLT']) await bus.topic(topic);
});
afterEach(() => bus.end());

describe('dlt.redact', () => {
  const oneTier = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] };
  const noTier = { tier0: { maxAttempts: 1 }, tiers: [] };

  it('is called once for each failure on the way to the dead-letter topic', async () => {
    await bus.startOrders([Orders], { retry: oneTier, dlt });
    await bus.write('orders', '1');
    await bus.runtime.advance(10_000);
    expect(await bus.records('orders.DLT')).toHaveLength(1);
    expect(redacted).toEqual(['no stock (call 1)', 'no stock (call 2)']);
  });

  it('is called once for each failure of a record that stays in its place', async () => {
    const retry = { ...noTier, tier0: { maxAttempts: 3 }, mode: 'seek' };
    await bus.startOrders([Orders], { retry, dlt });
    await bus.write('orders', '1');
    await bus.runtime.advance(60_000);
    expect(await bus.records('orders.DLT')).toHaveLength(1);
    expect(redacted).toEqual(['no stock (call 1)', 'no stock (call 2)', 'no stock (call 3)']);
  });

  it('is not called again while the write to the dead-letter topic is repeated', async () => {
    const fault = bus.broker.faults.refuse(
      { operation: 'produce', topic: 'orders.DLT' },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    await bus.startOrders([Orders], { retry: noTier, dlt });
    await bus.write('orders', '1');
    await bus.runtime.advance(60_000);
    fault.lift();
    await bus.runtime.advance(60_000);
    expect(await bus.records('orders.DLT')).toHaveLength(1);
    expect(redacted).toEqual(['no stock (call 1)']);
  });

  it('is not called again for a dead letter that an operator decides about', async () => {
    const application = await bus.startOrders([Orders], {
      retry: noTier,
      dlt,
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
    });
    await bus.write('orders', '1');
    await bus.runtime.advance(1_000);
    const partition = { topic: 'orders', partition: 0 };
    const connector = application.get(EventBusConnector);
    await bus.done(connector.decide('orders', partition, 'dead-letter'));
    await bus.runtime.advance(1_000);
    expect(await bus.records('orders.DLT')).toHaveLength(1);
    expect(redacted).toEqual(['no stock (call 1)']);
  });
});
