import type { OutgoingRecord } from '@nest-event-bus/broker';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import { TestBus } from '../support/test-bus.spec-support.js';

@Injectable()
class Failing {
  @EventHandler('orders')
  handle(): never {
    throw new Error('no');
  }
}

let testBus: TestBus;
let asia: MemoryBroker;

beforeEach(() => {
  testBus = new TestBus();
  asia = new MemoryBroker({ runtime: testBus.runtime });
});

afterEach(() => testBus.end());

const outsideOf = (broker: MemoryBroker) => memory({ broker, clientId: 'outside' });

/** Starts an application with clusters `europe` and `asia`, and a binding `orders` on the second one. */
async function start(properties: Partial<TopicBindingProperties> = {}): Promise<void> {
  const clusters = {
    europe: { driver: memory({ broker: testBus.broker, clientId: 'bus' }) },
    asia: { driver: memory({ broker: asia, clientId: 'bus' }) },
  };
  const orders = { topic: 'orders', groupId: 'shop', cluster: 'asia', ...properties };
  const bus = EventBusModule.forRoot({
    runtime: testBus.runtime,
    clusters,
    bindings: { orders },
  });
  await testBus.start({ imports: [bus], providers: [Failing] });
}

async function createTopics(
  broker: MemoryBroker,
  names: readonly string[],
  config: Readonly<Record<string, string>> = {},
): Promise<void> {
  const topics = names.map((name) => ({ name, partitions: 1, config }));
  await testBus.done(outsideOf(broker).admin().createTopics(topics));
}

async function topicsOf(broker: MemoryBroker): Promise<readonly string[]> {
  const topics = await testBus.done(outsideOf(broker).admin().topics());
  return topics.map(({ name }) => name).toSorted();
}

async function lengthOf(broker: MemoryBroker, topic: string): Promise<number> {
  return (await testBus.done(outsideOf(broker).admin().watermarks(topic)))[0]?.high ?? 0;
}

async function writeTo(
  broker: MemoryBroker,
  record: Omit<OutgoingRecord, 'topic'>,
  compression: 'none' | 'gzip' = 'none',
): Promise<void> {
  const producer = outsideOf(broker).producer({ lingerMs: 0, compression });
  await testBus.done(producer.send([{ topic: 'orders', ...record }]));
  await testBus.runtime.advance(10_000);
}

const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] };

describe('A binding on the second of two clusters', () => {
  const topics = ['orders', 'orders.retry-1', 'orders.DLT'];

  it('writes its failed records to the retry and dead-letter topics of its cluster', async () => {
    for (const broker of [testBus.broker, asia]) await createTopics(broker, topics);
    await start({ retry });
    await writeTo(asia, { value: '1' });
    const lengths = await Promise.all(topics.map((topic) => lengthOf(asia, topic)));
    expect(lengths).toEqual([1, 1, 1]);
    for (const topic of topics) expect(await lengthOf(testBus.broker, topic)).toBe(0);
  });

  it('writes a failed record that fits only compressed to its cluster', async () => {
    const config = { 'max.message.bytes': '4000' };
    for (const broker of [testBus.broker, asia]) await createTopics(broker, topics, config);
    await start({ retry, deserializer: 'raw' });
    await writeTo(asia, { value: Buffer.alloc(100_000, 'x') }, 'gzip');
    expect(await lengthOf(asia, 'orders.DLT')).toBe(1);
    for (const topic of topics) expect(await lengthOf(testBus.broker, topic)).toBe(0);
  });

  it("gets its topics only on the second cluster, with provisioning: 'create'", async () => {
    await start({ retry, provisioning: 'create' });
    expect(await topicsOf(asia)).toEqual(topics.toSorted());
    expect(await topicsOf(testBus.broker)).toEqual([]);
  });

  it('causes a warning about topics that its own cluster does not have', async () => {
    await createTopics(testBus.broker, topics);
    await createTopics(asia, ['orders', 'orders.retry-1']);
    await start({ retry });
    expect(testBus.log.warnings.join('\n')).toContain('orders.DLT');
  });

  it('causes no warning about topics that only the other cluster does not have', async () => {
    await createTopics(asia, topics);
    await start({ retry });
    expect(testBus.log.warnings.join('\n')).not.toContain('orders.DLT');
  });
});
