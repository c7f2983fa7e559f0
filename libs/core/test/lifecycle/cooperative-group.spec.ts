import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { TestBus } from '../support/test-bus.spec-support.js';

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): void {}
}

let testBus: TestBus;

beforeEach(async () => {
  testBus = new TestBus();
  await testBus.topic('orders', 4);
  await testBus.failureTopics();
});

afterEach(() => testBus.end());

it('A member of a cooperative group stays UP and reads the partitions that it keeps while another member joins', async () => {
  const timeouts = { sessionTimeoutMs: 6_000, heartbeatIntervalMs: 1_000 };
  const first = await testBus.startOrders([Orders], timeouts);
  const seen = new Set<string>();
  const watch = testBus.runtime.setTimer(function look() {
    seen.add(testBus.health(first).status);
    testBus.runtime.setTimer(look, 10);
  }, 10);
  await testBus.startOrders([Orders], timeouts);
  await testBus.runtime.advance(5_000);
  watch.cancel();
  expect(await testBus.members()).toHaveLength(2);
  expect([...seen]).toEqual(['UP']);
});
