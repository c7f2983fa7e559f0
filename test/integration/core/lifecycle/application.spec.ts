import {
  EventBusModule,
  EventHandler,
  EventPublisher,
  LifecycleManager,
  type EventRecord,
} from '@nest-event-bus/core';
import { EventBusHealthIndicator, EventBusHealthModule } from '@nest-event-bus/core/terminus';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import type { AdminSession } from '@nest-event-bus/broker';
import { TcpProxy, eventually } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithKafka } from '../../support/index.js';

const handled: string[] = [];
let delayMs = 0;

@Injectable()
class Handlers {
  @EventHandler('orders')
  async handle({ partition, offset }: EventRecord): Promise<void> {
    handled.push(`${partition}/${offset}`);
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
}

interface TopicAndGroup {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly groupId: string;
}

/** A session timeout that is so short that a test can wait longer. */
const QUICK = { sessionTimeoutMs: '3s', heartbeatIntervalMs: '300ms' } as const;

async function startApplication({
  brokers,
  topic,
  groupId,
}: TopicAndGroup): Promise<INestApplicationContext> {
  class App {}
  return NestFactory.createApplicationContext(
    {
      module: App,
      imports: [
        EventBusModule.forRoot({ brokers, bindings: { orders: { topic, groupId, ...QUICK } } }),
        EventBusHealthModule,
      ],
      providers: [Handlers],
    },
    { logger: ['error'], abortOnError: false },
  );
}

describeWithKafka('An application on a real Kafka', (kafka) => {
  const applications: INestApplicationContext[] = [];
  const start = async (binding: TopicAndGroup): Promise<INestApplicationContext> => {
    const application = await startApplication(binding);
    applications.push(application);
    return application;
  };
  const driver = kafkajs({ brokers: kafka.brokers });
  let admin: AdminSession;
  const createTopicAndGroup = async (partitions: number): Promise<TopicAndGroup> => {
    const topic = kafka.unique('orders');
    await admin.createTopics([{ name: topic, partitions }]);
    return { brokers: kafka.brokers, topic, groupId: kafka.unique('shop') };
  };
  const write = (topic: string, count: number): Promise<unknown> =>
    driver.producer().send(
      Array.from({ length: count }, (_, id) => ({
        topic,
        partition: id % 2,
        value: `{"id":${id}}`,
      })),
    );

  beforeAll(() => {
    admin = driver.admin();
  });
  beforeEach(() => {
    handled.length = 0;
    delayMs = 0;
  });
  afterEach(async () => {
    for (const application of applications.splice(0)) await application.close();
  });
  afterAll(() => driver.close());

  it('publishes many events with one call, and reports each that is too large', async () => {
    const publisher = (await start(await createTopicAndGroup(1))).get(EventPublisher);
    const events = [1, 2, 3].map((id) => ({ event: { id }, key: 'a' }));
    const published = await publisher.publishAll('orders', events);
    expect(published.map(({ offset }) => offset)).toEqual([0n, 1n, 2n]);
    const large = { event: 'x'.repeat(2_000_000), key: 'a' };
    const attempt = publisher.publishAll('orders', [events[0]!, large]);
    await expect(attempt).rejects.toMatchObject({
      code: 'EVENTS_PUBLISH',
      results: [{ offset: 3n }, { code: 'EVENT_PUBLISH', retriable: false }],
    });
  });

  it('handles the record that it publishes', async () => {
    const application = await start(await createTopicAndGroup(1));
    await application.get(EventPublisher).publish('orders', { id: 1 }, { key: 'a' });
    await eventually(() => handled.includes('0/0'));
  });

  it('stays in its group while it is paused for longer than the session timeout, and continues at the committed offset', async () => {
    const binding = await createTopicAndGroup(2);
    const application = await start(binding);
    const lifecycle = application.get(LifecycleManager);
    delayMs = 20;
    await write(binding.topic, 100);
    await eventually(() => handled.length > 5);

    await lifecycle.pause('orders');
    const before = handled.length;
    const memberIds = async (): Promise<unknown> =>
      (await admin.describeGroup(binding.groupId)).members.map(({ memberId }) => memberId);
    const members = await memberIds();
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    expect(handled).toHaveLength(before);
    expect(await memberIds()).toEqual(members);
    expect((await admin.describeGroup(binding.groupId)).state).toBe('Stable');
    const committed = (await admin.groupOffsets(binding.groupId)).reduce(
      (sum, { offset }) => sum + offset,
      0,
    );
    expect(committed).toBe(before);

    delayMs = 0;
    await expect(lifecycle.resume('orders')).resolves.toMatchObject({ state: 'RUNNING' });
    await eventually(() => handled.length >= 100);
    expect(new Set(handled).size).toBe(100);
    expect(handled).toHaveLength(100);
  }, 180_000);

  it('is not ready while it starts without its broker, and becomes ready when the broker is back', async () => {
    const binding = await createTopicAndGroup(1);
    const [broker = ''] = kafka.brokers;
    await using proxy = await TcpProxy.listen({ target: broker });
    await proxy.refuse();
    const application = await start({ ...binding, brokers: [proxy.address] });
    const health = application.get(EventBusHealthIndicator);
    const status = (): string => health.isHealthy('eventbus').eventbus.status;
    expect(status()).toBe('down');
    await write(binding.topic, 1);

    await proxy.accept();
    await eventually(() => handled.length === 1, { timeoutMs: 60_000 });
    // Its retry and dead-letter topics do not exist, so that it is degraded.
    await eventually(() => status() !== 'down');
  }, 180_000);
});
