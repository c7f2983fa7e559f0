import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { readDeadLetter } from '../../src/failures/headers/read-dead-letter.js';
import { TestBus } from '../support/test-bus.spec-support.js';

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

let testBus: TestBus;

beforeEach(() => {
  testBus = new TestBus();
});
afterEach(() => testBus.end());

/** Generates incompressible bytes, the same at each call. */
function incompressibleBytes(length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 64) }, (_, index) =>
    createHash('sha512').update(String(index)).digest(),
  );
  return Buffer.concat(blocks).subarray(0, length);
}

async function startWith(maxMessageBytes: number): Promise<void> {
  const config = { 'max.message.bytes': String(maxMessageBytes) };
  const topics = [MAIN, RETRY, DLT].map((name) => ({ name, partitions: 1, config }));
  await testBus.done(testBus.outside.admin().createTopics(topics));
  await testBus.startOrders([Orders], { retry, deserializer: 'raw' });
}

async function write(value: Buffer, compression: 'none' | 'gzip' = 'none'): Promise<void> {
  const producer = testBus.outside.producer({ maxRequestBytes: 32 * 1024 * 1024, compression });
  await testBus.done(producer.send([{ topic: MAIN, value }]));
  await testBus.runtime.advance(10_000);
}

describe('A record that fails', () => {
  it('is retried and dead-lettered even if it is larger than a producer sends by default', async () => {
    await startWith(8_000_000);
    const value = incompressibleBytes(5_000_000);
    await write(value);
    expect((await testBus.records(RETRY)).map((hop) => hop.value?.equals(value))).toEqual([
      true,
      true,
    ]);
    const [letter] = await testBus.records(DLT);
    expect(letter?.value?.equals(value)).toBe(true);
    expect(readDeadLetter(letter!)).toMatchObject({ totalAttempts: 3, lastExceptionMessage: 'no' });
    expect(await testBus.committed()).toBe(1);
  });

  it('is dead-lettered without failure headers if it already has the maximum size of its topic', async () => {
    await startWith(4_000);
    const value = incompressibleBytes(4_000 - 80);
    await write(value);
    expect(await testBus.records(RETRY)).toEqual([]);
    const [letter] = await testBus.records(DLT);
    expect(letter?.value?.equals(value)).toBe(true);
    expect(await testBus.committed()).toBe(1);
  });

  it('is written compressed if it fits into its topics only when compressed', async () => {
    await startWith(4_000);
    const value = Buffer.alloc(100_000, 'x');
    await write(value, 'gzip');
    expect(await testBus.records(RETRY)).toHaveLength(2);
    const [letter] = await testBus.records(DLT);
    expect(letter?.value?.equals(value)).toBe(true);
    expect(readDeadLetter(letter!)).toMatchObject({ totalAttempts: 3, lastExceptionMessage: 'no' });
    expect(await testBus.committed()).toBe(1);
  });
});
