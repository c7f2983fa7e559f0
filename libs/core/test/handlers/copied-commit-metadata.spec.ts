import { Injectable } from '@nestjs/common';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let handled: number[];

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder({ offset, value }: EventRecord): Promise<void> {
    // The first record waits, so that the commit lists the records after it.
    if (value === 'waits') await new Promise(() => undefined);
    handled.push(Number(offset));
  }
}

const PROCESSING = {
  processing: { by: 'key' },
  deserializer: 'text',
  shutdown: { drainTimeoutMs: 100 },
};

beforeEach(async () => {
  testBus = new TestBus();
  handled = [];
  for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic, 2);
});
afterEach(() => testBus.end());

const start = () => {
  const { shutdown, ...properties } = PROCESSING;
  return testBus.startOrders([Orders], { ...properties, retry: { tiers: [] } }, { shutdown });
};

const write = (partition: number, from: number, to: number, first = 'goes') =>
  testBus.write(
    'orders',
    ...Array.from({ length: to - from }, (_, index) => ({
      partition,
      key: `k${from + index}`,
      value: index === 0 ? first : 'goes',
    })),
  );

/** Lets the group commit offset 0 of partition 0, with the records 1 to 5 as completed. */
async function commitWithMetadata() {
  const application = await start();
  await write(0, 0, 6, 'waits');
  await testBus.runtime.advance(1_000);
  expect(handled).toEqual([1, 2, 3, 4, 5]);
  handled = [];
  await testBus.done(application.close());
  const offsets = await testBus.done(testBus.outside.admin().groupOffsets('shop'));
  const commit = offsets.find(({ partition }) => partition === 0)!;
  expect(commit).toMatchObject({ offset: 0, metadata: expect.stringMatching(/^eb2 0@0 /) });
  return commit;
}

describe('Metadata of a commit that a tool copies', () => {
  it.each([
    ['another offset', { partition: 0, offset: 3 }],
    ['another partition', { partition: 1, offset: 0 }],
  ])('to %s hides no record', async (_, { partition, offset }) => {
    const { metadata } = await commitWithMetadata();
    await write(partition, partition === 0 ? 6 : 0, 10);
    const admin = testBus.outside.admin();
    await testBus.done(
      admin.setGroupOffsets(
        'shop',
        [
          { topic: 'orders', partition: 0, offset: 6 },
          { topic: 'orders', partition, offset, metadata: metadata ?? '' },
        ].slice(partition === 0 ? 1 : 0),
      ),
    );
    await start();
    await testBus.runtime.advance(1_000);
    const expected = Array.from({ length: 10 - offset }, (_record, index) => offset + index);
    expect(handled).toEqual(expected);
  });
});
