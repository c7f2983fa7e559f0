import { Injectable } from '@nestjs/common';
import type { BrokerDriver } from '@nest-event-bus/broker';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { resolvedOrders } from '../../src/config/configuration.spec-support.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import {
  type LogLine,
  recordingLogger,
} from '../../src/consuming/session/consuming-test-bed.spec-support.js';
import { World } from '../support/application.spec-support.js';
import { TopicChecks } from '../../src/topics/topic-checks.js';

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle(): void {}
}

describe('a binding that starts', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.topic('orders', 2);
  });
  afterEach(() => world.end());

  const warnings = (about: string): readonly string[] =>
    world.said.warnings.filter((text) => text.includes(about));

  it('warns of sessions that will have nothing to read', async () => {
    await world.startOrders([Handlers], { concurrency: 3 });
    expect(warnings('concurrency')).toEqual([
      "Binding 'orders' has concurrency 3, but topic 'orders' has 2 partition(s): 1 session(s) of this process will have nothing to read. Lower concurrency, or give the topic more partitions.",
    ]);
  });

  it('says nothing where there is a partition for each', async () => {
    await world.startOrders([Handlers], { concurrency: 2 });
    expect(warnings('concurrency')).toEqual([]);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])(
    'with dlt.verifyTopic %s warns %i times of a dead-letter topic that is missing',
    async (verifyTopic, times) => {
      await world.startOrders([Handlers], { provisioning: 'none', dlt: { verifyTopic } });
      expect(
        warnings("dead-letter topic 'orders.DLT' of binding 'orders' does not exist"),
      ).toHaveLength(times);
    },
  );

  it('says nothing of a dead-letter topic that exists', async () => {
    await world.topic('orders.graveyard');
    const dlt = { verifyTopic: true, topic: 'orders.graveyard' };
    await world.startOrders([Handlers], { provisioning: 'none', dlt });
    expect(warnings('dead-letter')).toEqual([]);
  });

  it('is looked at when it is registered at run time, and when it is started again', async () => {
    const application = await world.startOrders([Handlers]);
    await world.topic('late');
    const late = { topic: 'late', groupId: 'late', concurrency: 4 };
    await world.done(application.get(EventBusConnector).register('late', late, () => undefined));
    await world.runtime.advance(500);
    expect(warnings("Binding 'late' has concurrency 4")).toHaveLength(1);
    const lifecycle = application.get(LifecycleManager);
    await world.done(lifecycle.stop('late'));
    await world.done(lifecycle.start('late'));
    await world.runtime.advance(500);
    expect(warnings("Binding 'late' has concurrency 4")).toHaveLength(2);
  });

  it('is not stopped by a cluster that does not answer', async () => {
    world.broker.faults.refuse({ operation: 'metadata' }, 'CLUSTER_AUTHORIZATION_FAILED');
    await world.startOrders([Handlers], { concurrency: 3 });
    expect(warnings('concurrency')).toEqual([]);
  });
});

describe('a driver that gives no admin', () => {
  it('is asked again, and nothing breaks for it', async () => {
    const runtime = new VirtualRuntime();
    const log: LogLine[] = [];
    const admin = jest.fn(() => {
      throw new Error('The driver is closed.');
    });
    const driverOf = () => ({ admin }) as unknown as BrokerDriver;
    const checks = new TopicChecks({ driverOf, runtime, logger: recordingLogger(log) });
    checks.request(resolvedOrders({ provisioning: 'create' }));
    await runtime.advance(60_000);
    checks.close();
    expect(admin.mock.calls.length).toBeGreaterThan(2);
    expect(JSON.stringify(log)).toContain('The driver is closed.');
  });
});

describe('the topics for the failures of a binding', () => {
  let world: World;
  beforeEach(() => (world = new World()));
  afterEach(() => world.end());

  const create = async (name: string, config: Record<string, string> = {}): Promise<void> => {
    await world.done(world.outside.admin().createTopics([{ name, partitions: 1, config }]));
  };
  const TIER = { retry: { tiers: [{ delayMs: '1h', multiplier: 2, maxDelayMs: '2h' }] } };
  const startWith = async (
    configs: Record<'orders' | 'orders.retry-1' | 'orders.DLT', Record<string, string>>,
    properties: object = TIER,
  ): Promise<readonly string[]> => {
    for (const [name, config] of Object.entries(configs)) await create(name, config);
    await world.startOrders([Handlers], properties);
    return world.said.warnings;
  };
  const NOTHING_SAID = { orders: {}, 'orders.retry-1': {}, 'orders.DLT': {} };

  it('are warned of where records are deleted before their turn comes', async () => {
    const warned = await startWith({
      ...NOTHING_SAID,
      'orders.retry-1': { 'retention.ms': '7200000' },
    });
    expect(warned).toEqual([
      "The retry topic 'orders.retry-1' of binding 'orders' keeps its records for 7200000 ms (retention.ms), but they wait there for up to 7200000 ms: one that is deleted before its turn is lost. Raise retention.ms, or shorten the delay of tier 1.",
    ]);
  });

  it.each([
    ['the delay that grows is within its limit', { 'retention.ms': '7200001' }],
    ['they are kept for ever', { 'retention.ms': '-1' }],
    ['they are deleted for no other reason', {}],
  ])('are not, where %s', async (_, config) => {
    expect(await startWith({ ...NOTHING_SAID, 'orders.retry-1': config })).toEqual([]);
  });

  it('count with the longest of the delays', async () => {
    const tier = { delayMs: '2h', multiplier: 2, maxAttempts: 3, maxDelayMs: '6h' };
    const configs = { ...NOTHING_SAID, 'orders.retry-1': { 'retention.ms': '21600000' } };
    const warned = await startWith(configs, { retry: { tiers: [tier] } });
    expect(warned.join()).toContain('they wait there for up to 21600000 ms');
  });

  it('are warned of where they take smaller records than the main topic', async () => {
    const warned = await startWith({
      orders: { 'max.message.bytes': '3000000' },
      'orders.retry-1': { 'max.message.bytes': '2000000' },
      'orders.DLT': {},
    });
    expect(warned).toEqual([
      "The retry topic 'orders.retry-1' of binding 'orders' takes records of up to 2000000 bytes (max.message.bytes), but topic 'orders' of up to 3000000: a larger one that fails is not retried there. Raise max.message.bytes of 'orders.retry-1' to 3000000 or more.",
      "The dead-letter topic 'orders.DLT' of binding 'orders' takes records of up to 1048588 bytes (max.message.bytes), but topic 'orders' of up to 3000000: a larger one that fails would wait in its place, and its partition with it. Raise max.message.bytes of 'orders.DLT' to 3000000 or more.",
    ]);
  });

  it('are warned of where compaction throws failures away', async () => {
    const compact = { 'cleanup.policy': 'compact' };
    const warned = await startWith({
      orders: compact,
      'orders.retry-1': { ...compact, 'retention.ms': '1' },
      'orders.DLT': { 'cleanup.policy': 'compact,delete' },
    });
    expect(warned).toEqual([
      "The retry topic 'orders.retry-1' of binding 'orders' has cleanup.policy 'compact': of several failed records with one key only the last would be kept, and one without a key is refused. Set cleanup.policy to 'delete'.",
      "The dead-letter topic 'orders.DLT' of binding 'orders' has cleanup.policy 'compact,delete': of several failed records with one key only the last would be kept, and one without a key is refused. Set cleanup.policy to 'delete'.",
    ]);
  });

  it('are not compared where nobody may read their configuration, and that is no warning', async () => {
    world.broker.faults.refuse({ operation: 'describe-config' }, 'TOPIC_AUTHORIZATION_FAILED');
    const warned = await startWith(
      { ...NOTHING_SAID, 'orders.retry-1': { 'retention.ms': '1' } },
      { ...TIER, concurrency: 2 },
    );
    expect(warned).toHaveLength(1);
    expect(warned[0]).toContain('concurrency 2');
    expect(world.said.errors).toEqual([]);
  });

  it("are left alone with provisioning 'none'", async () => {
    const configs = { ...NOTHING_SAID, 'orders.retry-1': { 'retention.ms': '1' } };
    expect(await startWith(configs, { ...TIER, provisioning: 'none' })).toEqual([]);
  });
});
