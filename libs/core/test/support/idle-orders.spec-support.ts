import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { TestBus } from './test-bus.spec-support.js';

/** A handler for tests of the start: the records themselves do not matter. */
@Injectable()
export class Orders {
  @EventHandler('orders')
  handle(): void {}
}

export const orders = { topic: 'orders', groupId: 'shop' };
export const payments = { topic: 'payments', groupId: 'shop' };

export async function createTestBus(): Promise<TestBus> {
  const testBus = new TestBus();
  for (const name of ['orders', 'payments']) await testBus.topic(name);
  return testBus;
}
