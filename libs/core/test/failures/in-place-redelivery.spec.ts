import { Injectable } from '@nestjs/common';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { SchemaRegistryUnavailableException } from '../../src/errors/schema-registry-errors.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let calls: number[];
let failWith: () => Error;

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(): never {
    calls.push(testBus.runtime.now());
    throw failWith();
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  calls = [];
  failWith = () => new Error('no');
  for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic);
});
afterEach(() => testBus.end());

const SEEK = {
  mode: 'seek',
  tier0: { maxAttempts: 4, initialBackoffMs: 1_000 },
  tiers: [],
} as const;
const FORMS = {
  "retry.mode 'seek'": { retry: SEEK },
  'a BATCH listener with SEEK_TO_FAILED': {
    listenerType: 'BATCH',
    batchRedeliveries: 1,
    maxPollRecords: 50,
    retry: { tier0: { maxAttempts: 3, initialBackoffMs: 1_000 }, tiers: [] },
  },
} satisfies Readonly<Record<string, Partial<TopicBindingProperties>>>;

async function letterWith(properties: Partial<TopicBindingProperties>, waitMs = 60_000) {
  await testBus.startOrders([Orders], properties);
  await testBus.write('orders', '1');
  await testBus.runtime.advance(waitMs);
  const letters = (await testBus.records('orders.DLT')).map(readDeadLetter);
  expect(letters).toHaveLength(1);
  return letters[0]!;
}

describe.each(Object.entries(FORMS))(
  'A record that is redelivered without a retry topic, by %s',
  (_, properties) => {
    it('is poison if all its calls failed with the same error; firstFailureTimestamp is that of the first call', async () => {
      const letter = await letterWith(properties);
      expect(calls).toHaveLength(4);
      expect(letter).toMatchObject({ totalAttempts: 4, isPoison: true });
      expect(letter.firstFailureTimestamp).toBe(calls[0]);
      expect(letter.dltTimestamp).toBeGreaterThan(calls[0]! + 1_000);
    });

    it('is not poison if an early call failed with another error', async () => {
      failWith = () => new Error(calls.length === 1 ? 'other' : 'no');
      const letter = await letterWith(properties);
      expect(letter).toMatchObject({ totalAttempts: 4, isPoison: false, fingerprint: 'varied' });
    });

    it('does not use up its calls during an outage in which its handler is not called', async () => {
      let deserializations = 0;
      const deserializer = {
        name: 'late',
        deserialize: (bytes: Buffer): unknown => {
          deserializations += 1;
          if (deserializations <= 20) throw new SchemaRegistryUnavailableException('down');
          return bytes.toString();
        },
      };
      const letter = await letterWith({ ...properties, deserializer }, 60 * 60_000);
      expect(calls).toHaveLength(4);
      expect(letter).toMatchObject({ totalAttempts: 4, isPoison: true });
      expect(letter.firstFailureTimestamp).toBe(calls[0]);
    });

    it('is dead-lettered as poison if its dead-letter topic becomes writable only later', async () => {
      const refused = { operation: 'produce', topic: 'orders.DLT' } as const;
      const fault = testBus.broker.faults.refuse(refused, 'TOPIC_AUTHORIZATION_FAILED');
      const retry = { ...properties.retry, poisonAfter: 2 };
      await testBus.startOrders([Orders], { ...properties, retry });
      await testBus.write('orders', '1');
      await testBus.runtime.advance(60_000);
      expect(await testBus.committed()).toBe(0);
      fault.lift();
      await testBus.runtime.advance(60_000);
      const [letter] = (await testBus.records('orders.DLT')).map(readDeadLetter);
      expect(letter).toMatchObject({ dltCause: 'poison', totalAttempts: 2 });
      expect(calls).toHaveLength(2);
      expect(await testBus.committed()).toBe(1);
    });
  },
);

it('retry.poisonAfter dead-letters a record that fails with the same error in every redelivery without a retry topic', async () => {
  const letter = await letterWith({ retry: { ...SEEK, poisonAfter: 2 } });
  expect(letter).toMatchObject({ dltCause: 'poison', totalAttempts: 2 });
});

it('The first failure timestamp is the time of the first call in the delivery', async () => {
  const tier0 = { maxAttempts: 3, initialBackoffMs: 1_000 };
  const letter = await letterWith({ retry: { tier0, tiers: [] } });
  expect(calls).toHaveLength(3);
  expect(letter.firstFailureTimestamp).toBe(calls[0]);
});
