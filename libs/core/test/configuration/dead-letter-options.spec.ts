import { Injectable } from '@nestjs/common';
import { DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const SECOND = 1_000;

let testBus: TestBus;

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(): never {
    throw new Error('nobody has seen this before');
  }

  @DltHandler('orders')
  onDeadLetter(): Promise<never> {
    return new Promise(() => undefined);
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  await testBus.topic('orders');
  await testBus.topic('orders.DLT');
});

afterEach(() => testBus.end());

const retry = { tiers: [], tier0: { maxAttempts: 1 } };

describe('dlt.handlerTimeoutMs', () => {
  it.each([
    ['2s', 1],
    ['8s', 0],
  ])('%s ends the wait for a @DltHandler that does not answer', async (handlerTimeoutMs, count) => {
    await testBus.startOrders([Orders], { retry, dlt: { strategy: 'CUSTOM', handlerTimeoutMs } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(5 * SECOND);
    expect(await testBus.records('orders.DLT')).toHaveLength(count);
  });
});

describe('dlt.publishTimeoutMs', () => {
  it.each([
    ['2s', 'DOWN'],
    ['60s', 'UP'],
  ])('%s limits a write that nobody answers', async (publishTimeoutMs, status) => {
    testBus.broker.faults.loseRequests({ operation: 'produce', topic: 'orders.DLT' });
    const dlt = { publishTimeoutMs };
    const application = await testBus.startOrders([Orders], { retry, dlt });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10 * SECOND);
    expect(testBus.health(application).status).toBe(status);
  });
});
