import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { headerText } from '../../src/model/records/header-text.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): never {
    throw new RangeError('the warehouse does not answer');
  }
}

beforeEach(() => void (testBus = new TestBus()));
afterEach(() => testBus.end());

describe('The timestamp type of a record', () => {
  it.each(['CreateTime', 'LogAppendTime'] as const)(
    'is %s in its dead letter, whatever the types of its retry topics are',
    async (type) => {
      const other = type === 'CreateTime' ? 'LogAppendTime' : 'CreateTime';
      for (const topic of ['orders', 'orders.retry-1', 'orders.DLT']) await testBus.topic(topic);
      const setType = (topic: string, value: string) =>
        testBus.done(
          testBus.outside.admin().alterTopicConfig(topic, { 'message.timestamp.type': value }),
        );
      await setType('orders', type);
      await setType('orders.retry-1', other);
      await setType('orders.DLT', other);
      await testBus.startOrders([Orders], {
        retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 2 }] },
        dlt: { headerProfile: ['spring'] },
      });
      await testBus.write('orders', '"bad"');
      await testBus.runtime.advance(5_000);
      const [letter] = await testBus.records('orders.DLT');
      expect(readDeadLetter(letter!).originalTimestampType).toBe(type);
      expect(headerText(letter!.headers, 'kafka_dlt-original-timestamp-type')).toBe(type);
    },
  );
});
