import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { World } from '../support/application.spec-support.js';

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(): never {
    throw new Error('no');
  }
}

const MAIN = 'orders';
const RETRY = 'orders.retry-1';
const DLT = 'orders.DLT';
const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 2 }] };

let world: World;

beforeEach(() => {
  world = new World();
});
afterEach(() => world.end());

/** Bytes that no compression makes any less, the same each time. */
function noise(length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 64) }, (_, index) =>
    createHash('sha512').update(String(index)).digest(),
  );
  return Buffer.concat(blocks).subarray(0, length);
}

async function startWith(maxMessageBytes: number): Promise<void> {
  const config = { 'max.message.bytes': String(maxMessageBytes) };
  const topics = [MAIN, RETRY, DLT].map((name) => ({ name, partitions: 1, config }));
  await world.done(world.outside.admin().createTopics(topics));
  await world.startOrders([Orders], { retry, deserializer: 'raw' });
}

async function write(value: Buffer, compression: 'none' | 'gzip' = 'none'): Promise<void> {
  const producer = world.outside.producer({ maxRequestBytes: 32 * 1024 * 1024, compression });
  await world.done(producer.send([{ topic: MAIN, value }]));
  await world.runtime.advance(10_000);
}

describe('A record that fails and is', () => {
  it('larger than a producer sends by default, in topics that take it, goes its whole road', async () => {
    await startWith(8_000_000);
    const value = noise(5_000_000);
    await write(value);
    expect((await world.records(RETRY)).map((hop) => hop.value?.equals(value))).toEqual([
      true,
      true,
    ]);
    const [letter] = await world.records(DLT);
    expect(letter?.value?.equals(value)).toBe(true);
    expect(readDeadLetter(letter!)).toMatchObject({ totalAttempts: 3, lastExceptionMessage: 'no' });
    expect(await world.committed()).toBe(1);
  });

  it('as large as its topics take is dead-lettered without its story, and blocks nothing', async () => {
    await startWith(4_000);
    const value = noise(4_000 - 80);
    await write(value);
    expect(await world.records(RETRY)).toEqual([]);
    const [letter] = await world.records(DLT);
    expect(letter?.value?.equals(value)).toBe(true);
    expect(await world.committed()).toBe(1);
  });

  it('taken by its topics only because it came compressed goes its whole road, compressed', async () => {
    await startWith(4_000);
    const value = Buffer.alloc(100_000, 'x');
    await write(value, 'gzip');
    expect(await world.records(RETRY)).toHaveLength(2);
    const [letter] = await world.records(DLT);
    expect(letter?.value?.equals(value)).toBe(true);
    expect(readDeadLetter(letter!)).toMatchObject({ totalAttempts: 3, lastExceptionMessage: 'no' });
    expect(await world.committed()).toBe(1);
  });
});
