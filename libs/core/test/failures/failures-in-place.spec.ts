import { Injectable } from '@nestjs/common';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { SchemaRegistryUnavailableException } from '../../src/errors/schema-registry-errors.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { World } from '../support/application.spec-support.js';

let world: World;
let calls: number[];
let failWith: () => Error;

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(): never {
    calls.push(world.runtime.now());
    throw failWith();
  }
}

beforeEach(async () => {
  world = new World();
  calls = [];
  failWith = () => new Error('no');
  for (const topic of ['orders', 'orders.DLT']) await world.topic(topic);
});
afterEach(() => world.end());

const SEEK = {
  mode: 'seek',
  tier0: { maxAttempts: 4, initialBackoffMs: 1_000 },
  tiers: [],
} as const;
const FORMS = {
  "retry.mode 'seek'": { retry: SEEK },
  'a BATCH listener with SEEK_TO_FAILED': {
    listenerType: 'BATCH',
    batchRedeliveries: 3,
    retry: { tier0: { maxAttempts: 1 }, tiers: [] },
  },
} satisfies Readonly<Record<string, Partial<TopicBindingProperties>>>;

async function letterWith(properties: Partial<TopicBindingProperties>, waitMs = 60_000) {
  await world.startOrders([Orders], properties);
  await world.write('orders', '1');
  await world.runtime.advance(waitMs);
  const letters = (await world.records('orders.DLT')).map(readDeadLetter);
  expect(letters).toHaveLength(1);
  return letters[0]!;
}

describe.each(Object.entries(FORMS))('A record that fails in its place by %s', (_, properties) => {
  it('is poison when each of its calls failed alike, since the first of them', async () => {
    const letter = await letterWith(properties);
    expect(calls).toHaveLength(4);
    expect(letter).toMatchObject({ totalAttempts: 4, isPoison: true });
    expect(letter.firstFailureTimestamp).toBe(calls[0]);
    expect(letter.dltTimestamp).toBeGreaterThan(calls[0]! + 1_000);
  });

  it('is none when an early call has failed otherwise', async () => {
    failWith = () => new Error(calls.length === 1 ? 'else' : 'no');
    const letter = await letterWith(properties);
    expect(letter).toMatchObject({ totalAttempts: 4, isPoison: false, fingerprint: 'varied' });
  });

  it('loses none of its calls to an outage in which it was not called', async () => {
    let asked = 0;
    const deserializer = {
      name: 'late',
      deserialize: (bytes: Buffer): unknown => {
        asked += 1;
        if (asked <= 20) throw new SchemaRegistryUnavailableException('down');
        return bytes.toString();
      },
    };
    const letter = await letterWith({ ...properties, deserializer }, 60 * 60_000);
    expect(calls).toHaveLength(4);
    expect(letter).toMatchObject({ totalAttempts: 4, isPoison: true });
    expect(letter.firstFailureTimestamp).toBe(calls[0]);
  });

  it('leaves as poison also where its dead-letter topic could not be written to at first', async () => {
    const refused = { operation: 'produce', topic: 'orders.DLT' } as const;
    const fault = world.broker.faults.refuse(refused, 'TOPIC_AUTHORIZATION_FAILED');
    const retry = { ...properties.retry, poisonAfter: 2 };
    await world.startOrders([Orders], { ...properties, retry });
    await world.write('orders', '1');
    await world.runtime.advance(60_000);
    expect(await world.committed()).toBe(0);
    fault.lift();
    await world.runtime.advance(60_000);
    const [letter] = (await world.records('orders.DLT')).map(readDeadLetter);
    expect(letter).toMatchObject({ dltCause: 'poison', totalAttempts: 2 });
    expect(calls).toHaveLength(2);
    expect(await world.committed()).toBe(1);
  });
});

it('retry.poisonAfter ends the calls of a record that fails alike in its place', async () => {
  const letter = await letterWith({ retry: { ...SEEK, poisonAfter: 2 } });
  expect(letter).toMatchObject({ dltCause: 'poison', totalAttempts: 2 });
});

it('The first failure of several calls in one delivery is that of the first', async () => {
  const tier0 = { maxAttempts: 3, initialBackoffMs: 1_000 };
  const letter = await letterWith({ retry: { tier0, tiers: [] } });
  expect(calls).toHaveLength(3);
  expect(letter.firstFailureTimestamp).toBe(calls[0]);
});
