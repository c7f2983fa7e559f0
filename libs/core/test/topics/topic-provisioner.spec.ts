import { Injectable } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { TestBus } from '../support/test-bus.spec-support.js';

const handled: unknown[] = [];

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle({ value }: { value: unknown }): void {
    handled.push(value);
  }
}

describe("A binding with provisioning: 'create'", () => {
  let testBus: TestBus;
  beforeEach(() => {
    testBus = new TestBus();
    handled.splice(0);
  });
  afterEach(() => testBus.end());

  const start = (properties: object = {}) =>
    testBus.startOrders([Handlers], { provisioning: 'create', ...properties });

  const partitions = async (): Promise<Record<string, number>> => {
    const topics = await testBus.done(testBus.outside.admin().topics());
    return Object.fromEntries(topics.map((topic) => [topic.name, topic.partitions.length]));
  };
  const retention = async (topic: string) =>
    (await testBus.done(testBus.outside.admin().topicConfig(topic)))['retention.ms'];

  it('gets its main topic, its retry topics and its dead-letter topic', async () => {
    await start({ topics: { partitions: 3 } });
    expect(await partitions()).toEqual({
      orders: 3,
      'orders.retry-1': 3,
      'orders.retry-2': 3,
      'orders.retry-3': 3,
      'orders.DLT': 3,
    });
  });

  it('reads the created topics', async () => {
    await start();
    await testBus.runtime.advance(10_000);
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10_000);
    expect(handled).toEqual([1]);
  });

  it('creates only its main topic if the application only publishes to it', async () => {
    const bindings = { invoices: { topic: 'invoices', groupId: 'shop', provisioning: 'create' } };
    const options = { bindings, bindingsWithoutHandler: 'allow', defaults: { concurrency: 9 } };
    await testBus.start({ imports: [testBus.module(options as never)] });
    expect(await partitions()).toEqual({ invoices: 1 });
    expect(testBus.log.warnings).toEqual([]);
  });

  it('gets retry and dead-letter topics with as many partitions as its existing main topic', async () => {
    await testBus.topic('orders', 5);
    await start({ retry: { tiers: [] }, topics: { partitions: 2 } });
    expect(await partitions()).toEqual({ orders: 5, 'orders.DLT': 5 });
  });

  it('gets topics with topics.replicationFactor replicas', async () => {
    await testBus.end();
    testBus = new TestBus({ brokers: 3 });
    await start({ topics: { replicationFactor: 2 }, retry: { tiers: [{ delayMs: 1_000 }] } });
    const topics = await testBus.done(testBus.outside.admin().topics());
    const replicas = topics.map(({ name, partitions }) => [name, partitions[0]?.replicas.length]);
    expect(Object.fromEntries(replicas)).toEqual({
      orders: 2,
      'orders.retry-1': 2,
      'orders.DLT': 2,
    });
  });

  it('gets topics with the settings of topics.retry and topics.dlt', async () => {
    await start({
      retry: { tiers: [{ delayMs: 1_000 }] },
      topics: {
        partitions: 4,
        // Not the seven days of the broker's default.
        retentionDays: 5,
        replicationFactor: 1,
        retry: { partitions: 1, retentionDays: 1 },
        dlt: { partitions: 2, retentionDays: 30 },
      },
    });
    expect(await partitions()).toEqual({ orders: 4, 'orders.retry-1': 1, 'orders.DLT': 2 });
    expect(await retention('orders')).toBe(String(5 * 86_400_000));
    expect(await retention('orders.retry-1')).toBe(String(86_400_000));
    expect(await retention('orders.DLT')).toBe(String(30 * 86_400_000));
  });

  it('gets one retry topic for tiers that share it', async () => {
    await start({
      preset: 'brokers',
      concurrency: 1,
      retry: { tiers: [{ delayMs: 1_000, topicSuffix: '-retry' }] },
    });
    expect(Object.keys(await partitions()).toSorted()).toEqual([
      'orders',
      'orders-dlq',
      'orders-retry',
    ]);
  });

  it("gets topics with the names and settings that preset 'brokers' defines", async () => {
    const retry = { tiers: [{ delayMs: 1_000 }] };
    await testBus.startOrders([Handlers], { preset: 'brokers', topics: { partitions: 3 }, retry });
    expect(await partitions()).toEqual({ orders: 3, 'orders-retry': 1, 'orders-dlq': 1 });
    expect(await retention('orders-retry')).toBe(String(86_400_000));
    expect(await retention('orders-dlq')).toBe(String(30 * 86_400_000));
    expect(testBus.log.warnings).toEqual([]);
  });

  it('leaves existing topics unchanged', async () => {
    await testBus.topic('orders.DLT', 7);
    await start({ topics: { dlt: { partitions: 1, retentionDays: 1 } } });
    expect((await partitions())['orders.DLT']).toBe(7);
  });

  it('requests its topics again until the cluster allows their creation', async () => {
    const fault = testBus.broker.faults.refuse(
      { operation: 'create-topics' },
      'CLUSTER_AUTHORIZATION_FAILED',
    );
    await start();
    expect(await partitions()).toEqual({});
    expect(testBus.log.warnings.join()).toContain('could not be created');
    fault.lift();
    await testBus.runtime.advance(120_000);
    expect(Object.keys(await partitions())).toHaveLength(5);
  });
});

describe('A binding whose topics are refused', () => {
  let testBus: TestBus;
  beforeEach(async () => {
    testBus = new TestBus();
    await testBus.topic('checked');
  });
  afterEach(() => testBus.end());

  const refusals = () =>
    testBus.log.warnings.filter((line) => line.startsWith('Topics could not be created'));
  const refused = () => refusals().join();
  const read = (name: string, properties: object) => ({
    [name]: { topic: name, groupId: name, retry: { tiers: [] }, ...properties },
  });
  const TOO_MANY_REPLICAS = { provisioning: 'create', topics: { replicationFactor: 3 } };
  const start = () => {
    const bindings = {
      ...read('greedy', TOO_MANY_REPLICAS),
      ...read('modest', { provisioning: 'create', topics: { replicationFactor: 1 } }),
      ...read('checked', { concurrency: 5 }),
    };
    @Injectable()
    class AllHandlers {
      @EventHandler('greedy') greedy(): void {}
      @EventHandler('modest') modest(): void {}
      @EventHandler('checked') checked(): void {}
    }
    return testBus.start({ imports: [testBus.module({ bindings })], providers: [AllHandlers] });
  };

  it('does not prevent the topics of other bindings, and no warning names those', async () => {
    await start();
    expect((await testBus.topicNames()).toSorted()).toEqual(['checked', 'modest', 'modest.DLT']);
    expect(refused()).toContain('greedy');
    expect(refused()).not.toContain('modest');
  });

  it('does not prevent warnings about the topics of other bindings', async () => {
    await start();
    expect(testBus.log.warnings.join()).toContain("Binding 'checked' has concurrency 5");
  });

  it('requests no topics after it was unregistered', async () => {
    const application = await start();
    await testBus.done(application.get(EventBusConnector).unregister('greedy'));
    await testBus.runtime.advance(60_000);
    const before = refused();
    await testBus.runtime.advance(600_000);
    expect(refused()).toBe(before);
  });

  it('requests its topics once per interval, however often it is started again', async () => {
    const application = await start();
    const connector = application.get(EventBusConnector);
    for (let times = 0; times < 3; times++) {
      await testBus.done(connector.stop('greedy'));
      await testBus.done(connector.start('greedy'));
    }
    await testBus.runtime.advance(600_000);
    const before = refusals();
    await testBus.runtime.advance(600_000);
    // Each wait is at least half a minute. With three further loops there would be three times as
    // many requests.
    const since = refusals().slice(before.length);
    expect(since.length).toBeLessThanOrEqual(10);
    const times = since.map((line) => Number(/"times":(\d+)/.exec(line)?.[1]));
    expect(times.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(20);
  });

  it('gets the topics that are allowed', async () => {
    testBus.broker.faults.refuse(
      { operation: 'create-topics', topic: 'orders.retry-1' },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    const retry = { tiers: [{ delayMs: 1_000 }, { delayMs: 2_000 }] };
    await testBus.startOrders([Handlers], { provisioning: 'create', retry });
    expect((await testBus.topicNames()).toSorted()).toEqual([
      'checked',
      'orders',
      'orders.DLT',
      'orders.retry-2',
    ]);
  });
});

describe('A binding with missing topics', () => {
  let testBus: TestBus;
  beforeEach(async () => {
    testBus = new TestBus();
    await testBus.topic('orders');
  });
  afterEach(() => testBus.end());

  it.each([
    ['verify', 4],
    ['none', 0],
  ])(
    "causes, with provisioning '%s', %i warnings about missing topics",
    async (provisioning, times) => {
      await testBus.startOrders([Handlers], { provisioning });
      const warnings = testBus.log.warnings.filter((line) => line.includes('does not exist'));
      expect(warnings).toHaveLength(times);
      expect(await testBus.topicNames()).toEqual(['orders']);
    },
  );

  it('causes a warning that says what to do', async () => {
    await testBus.startOrders([Handlers], { retry: { tiers: [] } });
    expect(testBus.log.warnings).toContain(
      "The dead-letter topic 'orders.DLT' of binding 'orders' does not exist: a record that fails would block its partition. Create it, set provisioning: 'create', or correct dlt.topic or dlt.topicSuffix.",
    );
  });
});
