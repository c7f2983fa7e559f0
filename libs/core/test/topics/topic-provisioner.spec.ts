import { Injectable } from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { World } from '../support/application.spec-support.js';

const handled: unknown[] = [];

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle({ value }: { value: unknown }): void {
    handled.push(value);
  }
}

describe("A binding with provisioning: 'create'", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
    handled.splice(0);
  });
  afterEach(() => world.end());

  const start = (properties: object = {}) =>
    world.startOrders([Handlers], { provisioning: 'create', ...properties });

  const partitions = async (): Promise<Record<string, number>> => {
    const topics = await world.done(world.outside.admin().topics());
    return Object.fromEntries(topics.map((topic) => [topic.name, topic.partitions.length]));
  };
  const retention = async (topic: string) =>
    (await world.done(world.outside.admin().topicConfig(topic)))['retention.ms'];

  it('gets its topic, its retry topics and its dead-letter topic', async () => {
    await start({ topics: { partitions: 3 } });
    expect(await partitions()).toEqual({
      orders: 3,
      'orders.retry-1': 3,
      'orders.retry-2': 3,
      'orders.retry-3': 3,
      'orders.DLT': 3,
    });
  });

  it('reads them', async () => {
    await start();
    await world.runtime.advance(10_000);
    await world.write('orders', '1');
    await world.runtime.advance(10_000);
    expect(handled).toEqual([1]);
  });

  it('that is only published to gets its topic, and none for failures', async () => {
    const bindings = { invoices: { topic: 'invoices', groupId: 'shop', provisioning: 'create' } };
    const options = { bindings, bindingsWithoutHandler: 'allow', defaults: { concurrency: 9 } };
    await world.start({ imports: [world.bus(options as never)] });
    expect(await partitions()).toEqual({ invoices: 1 });
    expect(world.said.warnings).toEqual([]);
  });

  it('has as many partitions behind a topic that exists as that has', async () => {
    await world.topic('orders', 5);
    await start({ retry: { tiers: [] }, topics: { partitions: 2 } });
    expect(await partitions()).toEqual({ orders: 5, 'orders.DLT': 5 });
  });

  it('has as many replicas as topics.replicationFactor says, of all kinds', async () => {
    await world.end();
    world = new World({ brokers: 3 });
    await start({ topics: { replicationFactor: 2 }, retry: { tiers: [{ delayMs: 1_000 }] } });
    const topics = await world.done(world.outside.admin().topics());
    const replicas = topics.map(({ name, partitions }) => [name, partitions[0]?.replicas.length]);
    expect(Object.fromEntries(replicas)).toEqual({
      orders: 2,
      'orders.retry-1': 2,
      'orders.DLT': 2,
    });
  });

  it('takes topics.retry and topics.dlt at their word', async () => {
    await start({
      retry: { tiers: [{ delayMs: 1_000 }] },
      topics: {
        partitions: 4,
        retentionDays: 7,
        replicationFactor: 1,
        retry: { partitions: 1, retentionDays: 1 },
        dlt: { partitions: 2, retentionDays: 30 },
      },
    });
    expect(await partitions()).toEqual({ orders: 4, 'orders.retry-1': 1, 'orders.DLT': 2 });
    expect(await retention('orders')).toBe(String(7 * 86_400_000));
    expect(await retention('orders.retry-1')).toBe(String(86_400_000));
    expect(await retention('orders.DLT')).toBe(String(30 * 86_400_000));
  });

  it('has one retry topic for several tiers that share it', async () => {
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

  it('has the topics of preset brokers without saying so, as S3 creates them', async () => {
    const retry = { tiers: [{ delayMs: 1_000 }] };
    await world.startOrders([Handlers], { preset: 'brokers', topics: { partitions: 3 }, retry });
    expect(await partitions()).toEqual({ orders: 3, 'orders-retry': 1, 'orders-dlq': 1 });
    expect(await retention('orders-retry')).toBe(String(86_400_000));
    expect(await retention('orders-dlq')).toBe(String(30 * 86_400_000));
    expect(world.said.warnings).toEqual([]);
  });

  it('leaves what exists as it is', async () => {
    await world.topic('orders.DLT', 7);
    await start({ topics: { dlt: { partitions: 1, retentionDays: 1 } } });
    expect((await partitions())['orders.DLT']).toBe(7);
  });

  it('tries again for as long as the cluster does not let it', async () => {
    const fault = world.broker.faults.refuse(
      { operation: 'create-topics' },
      'CLUSTER_AUTHORIZATION_FAILED',
    );
    await start();
    expect(await partitions()).toEqual({});
    expect(world.said.warnings.join()).toContain('could not be created');
    fault.lift();
    await world.runtime.advance(120_000);
    expect(Object.keys(await partitions())).toHaveLength(5);
  });
});

describe('Bindings of which one may not have its topics', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.topic('checked');
  });
  afterEach(() => world.end());

  const refused = () =>
    world.said.warnings.filter((line) => line.includes('could not be created')).join();
  const read = (name: string, properties: object) => ({
    [name]: { topic: name, groupId: name, retry: { tiers: [] }, ...properties },
  });
  const ASKS_FOR_TOO_MUCH = { provisioning: 'create', topics: { replicationFactor: 3 } };
  const start = () => {
    const bindings = {
      ...read('greedy', ASKS_FOR_TOO_MUCH),
      ...read('modest', { provisioning: 'create', topics: { replicationFactor: 1 } }),
      ...read('checked', { concurrency: 5 }),
    };
    @Injectable()
    class All {
      @EventHandler('greedy') greedy(): void {}
      @EventHandler('modest') modest(): void {}
      @EventHandler('checked') checked(): void {}
    }
    return world.start({ imports: [world.bus({ bindings })], providers: [All] });
  };

  it('starve no other: it gets its topics, and is not blamed', async () => {
    await start();
    expect((await world.topicNames()).toSorted()).toEqual(['checked', 'modest', 'modest.DLT']);
    expect(refused()).toContain('greedy');
    expect(refused()).not.toContain('modest');
  });

  it('keep no other from being warned', async () => {
    await start();
    expect(world.said.warnings.join()).toContain("Binding 'checked' has concurrency 5");
  });

  it('are asked for no more once the binding is gone', async () => {
    const application = await start();
    await world.done(application.get(EventBusConnector).unregister('greedy'));
    await world.runtime.advance(60_000);
    const before = refused();
    await world.runtime.advance(600_000);
    expect(refused()).toBe(before);
  });

  it('are asked for once, however often the binding is started again', async () => {
    const application = await start();
    const connector = application.get(EventBusConnector);
    for (let times = 0; times < 3; times++) {
      await world.done(connector.stop('greedy'));
      await world.done(connector.start('greedy'));
    }
    await world.runtime.advance(600_000);
    const before = world.said.warnings.length;
    await world.runtime.advance(600_000);
    // A wait is half a minute at the least: three more loops would tell it three times as often.
    expect(world.said.warnings.length - before).toBeLessThanOrEqual(20);
  });

  it('may have some of them: those are created', async () => {
    world.broker.faults.refuse(
      { operation: 'create-topics', topic: 'orders.retry-1' },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    const retry = { tiers: [{ delayMs: 1_000 }, { delayMs: 2_000 }] };
    await world.startOrders([Handlers], { provisioning: 'create', retry });
    expect((await world.topicNames()).toSorted()).toEqual([
      'checked',
      'orders',
      'orders.DLT',
      'orders.retry-2',
    ]);
  });
});

describe('A binding whose topics are missing', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.topic('orders');
  });
  afterEach(() => world.end());

  it.each([
    ['verify', 4],
    ['none', 0],
  ])("is warned of each with provisioning: '%s': %i times", async (provisioning, times) => {
    await world.startOrders([Handlers], { provisioning });
    const warnings = world.said.warnings.filter((line) => line.includes('does not exist'));
    expect(warnings).toHaveLength(times);
    expect(await world.topicNames()).toEqual(['orders']);
  });

  it('is told what to do', async () => {
    await world.startOrders([Handlers], { retry: { tiers: [] } });
    expect(world.said.warnings).toContain(
      "The dead-letter topic 'orders.DLT' of binding 'orders' does not exist: a record that fails would wait in its place, and its partition with it. Create it, set provisioning: 'create', or correct dlt.topic or dlt.topicSuffix.",
    );
  });
});
