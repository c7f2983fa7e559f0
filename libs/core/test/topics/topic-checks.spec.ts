import { Injectable } from '@nestjs/common';
import { ClosedError, type BrokerDriver } from '@nest-event-bus/broker';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { resolvedOrders } from '../../src/config/configuration.spec-support.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import {
  type LogLine,
  recordingLogger,
} from '../../src/consuming/session/consuming-test-bed.spec-support.js';
import { TestBus } from '../support/test-bus.spec-support.js';
import { TopicChecks } from '../../src/topics/topic-checks.js';

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle(): void {}
}

describe('A binding that starts', () => {
  let testBus: TestBus;
  beforeEach(async () => {
    testBus = new TestBus();
    await testBus.topic('orders', 2);
  });
  afterEach(() => testBus.end());

  const warnings = (about: string): readonly string[] =>
    testBus.log.warnings.filter((text) => text.includes(about));

  it('causes a warning if it has more sessions than partitions', async () => {
    await testBus.startOrders([Handlers], { concurrency: 3 });
    expect(warnings('concurrency')).toEqual([
      "Binding 'orders' has concurrency 3, but topic 'orders' has 2 partition(s): 1 session(s) of this process will have nothing to read. Lower concurrency, or give the topic more partitions.",
    ]);
  });

  it('causes no warning if there is a partition for each session', async () => {
    await testBus.startOrders([Handlers], { concurrency: 2 });
    expect(warnings('concurrency')).toEqual([]);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])(
    'causes, with dlt.verifyTopic %s and a missing dead-letter topic, %i warnings',
    async (verifyTopic, times) => {
      await testBus.startOrders([Handlers], { provisioning: 'none', dlt: { verifyTopic } });
      expect(
        warnings("dead-letter topic 'orders.DLT' of binding 'orders' does not exist"),
      ).toHaveLength(times);
    },
  );

  it('causes no warning about a dead-letter topic that exists', async () => {
    await testBus.topic('orders.graveyard');
    await testBus.startOrders([Handlers], {
      provisioning: 'none',
      dlt: { verifyTopic: true, topic: 'orders.graveyard' },
    });
    expect(warnings('dead-letter')).toEqual([]);
  });

  it('is checked also when it is registered at run time, and when it is started again', async () => {
    const application = await testBus.startOrders([Handlers]);
    await testBus.topic('late');
    const late = { topic: 'late', groupId: 'late', concurrency: 4 };
    await testBus.done(application.get(EventBusConnector).register('late', late, () => undefined));
    await testBus.runtime.advance(500);
    expect(warnings("Binding 'late' has concurrency 4")).toHaveLength(1);
    const lifecycle = application.get(LifecycleManager);
    await testBus.done(lifecycle.stop('late'));
    await testBus.done(lifecycle.start('late'));
    await testBus.runtime.advance(500);
    expect(warnings("Binding 'late' has concurrency 4")).toHaveLength(2);
  });

  it('starts without warnings if the cluster refuses to describe the topic', async () => {
    testBus.broker.faults.refuse({ operation: 'metadata' }, 'CLUSTER_AUTHORIZATION_FAILED');
    await testBus.startOrders([Handlers], { concurrency: 3 });
    expect(warnings('concurrency')).toEqual([]);
  });
});

describe('A driver without an admin client', () => {
  it('is asked for the admin client again later, and its error is logged without stopping the start', async () => {
    const runtime = new VirtualRuntime();
    const log: LogLine[] = [];
    const admin = jest.fn(() => {
      throw new ClosedError('The driver is closed.');
    });
    const driverOf = () => ({ admin }) as unknown as BrokerDriver;
    const checks = new TopicChecks({
      driverOf,
      problemsOf: () => undefined,
      runtime,
      logger: recordingLogger(log),
    });
    checks.request(resolvedOrders({ provisioning: 'create' }));
    await runtime.advance(60_000);
    checks.close();
    expect(admin.mock.calls.length).toBeGreaterThan(2);
    expect(JSON.stringify(log)).toContain('The driver is closed.');
  });

  it('is asked for it again to verify topics, until the bus closes', async () => {
    const runtime = new VirtualRuntime();
    const admin = jest.fn(() => {
      throw new ClosedError('The driver is closed.');
    });
    const checks = new TopicChecks({
      driverOf: () => ({ admin }) as unknown as BrokerDriver,
      problemsOf: () => undefined,
      runtime,
      logger: recordingLogger([]),
    });
    checks.request(resolvedOrders({ provisioning: 'verify' }));
    await runtime.advance(600_000);
    const { length } = admin.mock.calls;
    expect(length).toBeGreaterThan(10);
    expect(length).toBeLessThan(40);
    checks.close();
    await runtime.advance(600_000);
    expect(admin).toHaveBeenCalledTimes(length);
  });
});

describe('Retry and dead-letter topics', () => {
  let testBus: TestBus;
  beforeEach(() => (testBus = new TestBus()));
  afterEach(() => testBus.end());

  const create = async (name: string, config: Record<string, string> = {}): Promise<void> => {
    await testBus.done(testBus.outside.admin().createTopics([{ name, partitions: 1, config }]));
  };
  const TIER = { retry: { tiers: [{ delayMs: '1h', multiplier: 2, maxDelayMs: '2h' }] } };
  const startWith = async (
    configs: Record<'orders' | 'orders.retry-1' | 'orders.DLT', Record<string, string>>,
    properties: object = TIER,
  ): Promise<readonly string[]> => {
    for (const [name, config] of Object.entries(configs)) await create(name, config);
    await testBus.startOrders([Handlers], properties);
    return testBus.log.warnings;
  };
  const WITHOUT_WARNING = { orders: {}, 'orders.retry-1': {}, 'orders.DLT': {} };

  it('cause a warning if records are deleted before their delay is over', async () => {
    const warnings = await startWith({
      ...WITHOUT_WARNING,
      'orders.retry-1': { 'retention.ms': '7200000' },
    });
    expect(warnings).toEqual([
      "The retry topic 'orders.retry-1' of binding 'orders' keeps its records for 7200000 ms (retention.ms), but they wait there for up to 7200000 ms: one that is deleted before its turn is lost. Raise retention.ms, or shorten the delay of tier 1.",
    ]);
  });

  it.each([
    ['retention is longer than the longest delay', { 'retention.ms': '7200001' }],
    ['records are kept forever', { 'retention.ms': '-1' }],
    ['only compaction deletes records', {}],
  ])('cause no warning if %s', async (_, config) => {
    expect(await startWith({ ...WITHOUT_WARNING, 'orders.retry-1': config })).toEqual([]);
  });

  it('are compared with the longest of the delays that share the topic', async () => {
    const tier = { delayMs: '2h', multiplier: 2, maxAttempts: 3, maxDelayMs: '6h' };
    const configs = { ...WITHOUT_WARNING, 'orders.retry-1': { 'retention.ms': '21600000' } };
    const warnings = await startWith(configs, { retry: { tiers: [tier] } });
    expect(warnings.join()).toContain('they wait there for up to 21600000 ms');
  });

  it('cause a warning if they accept only smaller records than the main topic', async () => {
    const warnings = await startWith({
      orders: { 'max.message.bytes': '3000000' },
      'orders.retry-1': { 'max.message.bytes': '2000000' },
      'orders.DLT': {},
    });
    expect(warnings).toEqual([
      "The retry topic 'orders.retry-1' of binding 'orders' takes records of up to 2000000 bytes (max.message.bytes), but topic 'orders' of up to 3000000: a larger one that fails is not retried there. Raise max.message.bytes of 'orders.retry-1' to 3000000 or more.",
      "The dead-letter topic 'orders.DLT' of binding 'orders' takes records of up to 1048588 bytes (max.message.bytes), but topic 'orders' of up to 3000000: a larger one that fails would block its partition. Raise max.message.bytes of 'orders.DLT' to 3000000 or more.",
    ]);
  });

  it('cause a warning if compaction would remove failed records', async () => {
    const compact = { 'cleanup.policy': 'compact' };
    const warnings = await startWith({
      orders: compact,
      'orders.retry-1': { ...compact, 'retention.ms': '1' },
      'orders.DLT': { 'cleanup.policy': 'compact,delete' },
    });
    expect(warnings).toEqual([
      "The retry topic 'orders.retry-1' of binding 'orders' has cleanup.policy 'compact': of several failed records with one key only the last would be kept, and one without a key is refused. Set cleanup.policy to 'delete'.",
      "The dead-letter topic 'orders.DLT' of binding 'orders' has cleanup.policy 'compact,delete': of several failed records with one key only the last would be kept, and one without a key is refused. Set cleanup.policy to 'delete'.",
    ]);
  });

  it('are not compared if their configuration cannot be read, which causes no warning of its own', async () => {
    testBus.broker.faults.refuse({ operation: 'describe-config' }, 'TOPIC_AUTHORIZATION_FAILED');
    const warnings = await startWith(
      { ...WITHOUT_WARNING, 'orders.retry-1': { 'retention.ms': '1' } },
      { ...TIER, concurrency: 2 },
    );
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('concurrency 2');
    expect(testBus.log.errors).toEqual([]);
  });

  it("are not compared with provisioning 'none'", async () => {
    const configs = { ...WITHOUT_WARNING, 'orders.retry-1': { 'retention.ms': '1' } };
    expect(await startWith(configs, { ...TIER, provisioning: 'none' })).toEqual([]);
  });
});
