import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import type { AdminSession, BrokerDriver, BrokerRecord } from '@nest-event-bus/broker';
import {
  Ctx,
  EventHandler,
  EventBusModule,
  type EventContext,
  HandlesEvents,
  Payload,
  type EventTypeHandler,
} from '@nest-event-bus/core';
import {
  BaseEvent,
  catalogueTopics,
  EventPublisherService,
  EventTypes,
  KafkaMessageProducer,
  Message,
  MessagingHealth,
  MessagingModule,
  topicNames,
} from '@nest-event-bus/messaging';
import { loadMessagingProperties } from '@nest-event-bus/core/presets';
import { eventually } from '@nest-event-bus/testing';
import { Injectable, type DynamicModule, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { describeWithKafka } from '../support/index.js';

@Injectable()
class Emails {
  readonly seen: { payload: unknown; id: string | undefined }[] = [];

  @EventHandler('emails')
  onEmail(@Payload() payload: unknown, @Ctx() context: EventContext): void {
    const header = context.raw.headers.find(({ key }) => key === 'message-id');
    this.seen.push({ payload, id: header?.value?.toString() });
  }
}

@Injectable()
@HandlesEvents('users')
class PasswordChangedHandler implements EventTypeHandler<{ userId: string }> {
  readonly seen: string[] = [];

  getEventType(): string {
    return 'PasswordChangedEvent';
  }

  handleEvent({ userId }: { userId: string }): void {
    this.seen.push(userId);
  }
}

describeWithKafka('MessagingModule on Kafka', ({ brokers, unique }) => {
  const prefix = unique('messaging');
  const names = topicNames(prefix);
  const properties = `messaging.kafka.topic-prefix=${prefix}`;
  const { kafka } = loadMessagingProperties(properties);
  let driver: BrokerDriver;
  let admin: AdminSession;
  const apps: TestingModule[] = [];

  beforeAll(() => {
    driver = kafkajs({ brokers });
    admin = driver.admin();
  });

  afterAll(async () => {
    await admin.deleteTopics(catalogueTopics(kafka).map(({ name }) => name));
    await driver.close();
  });

  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  async function start(
    imports: readonly DynamicModule[] = [],
    providers: readonly Type[] = [],
    more = '',
  ): Promise<TestingModule> {
    const module = MessagingModule.forRoot({
      properties: `${properties}\n${more}`,
      kafka: { brokers },
    });
    const app = await Test.createTestingModule({
      imports: [module, ...imports],
      providers: [...providers],
    }).compile();
    await app.init();
    apps.push(app);
    return app;
  }

  async function recordsOf(topic: string): Promise<readonly BrokerRecord[]> {
    const records: BrokerRecord[] = [];
    for (const { partition, low, high } of await admin.watermarks(topic))
      for await (const record of admin.readRange(topic, partition, low, high)) records.push(record);
    return records;
  }

  it('creates the 28 topics with their partitions and retention', async () => {
    await start();
    const expected = catalogueTopics(kafka);
    const topics = await admin.topics(expected.map(({ name }) => name));
    expect(topics).toHaveLength(28);
    for (const { name, partitions, config } of expected) {
      expect(topics.find((topic) => topic.name === name)?.partitions).toHaveLength(partitions ?? 0);
      expect(await admin.topicConfig(name)).toMatchObject(config ?? {});
    }
  });

  it('sends messages that handlers of the event bus receive', async () => {
    const bus = EventBusModule.forRoot({
      driver: kafkajs({ brokers }),
      bindings: { emails: { topic: names.TOPIC_EMAILS, groupId: unique('mailer') } },
    });
    const app = await start([bus], [Emails]);
    const message = Message.of({ to: 'a@b.c' }, names.TOPIC_EMAILS, 'u1');
    const result = await app.get(KafkaMessageProducer).sendAndWait(message);
    expect(result).toMatchObject({ success: true, offset: '0' });
    await eventually(() => app.get(Emails).seen.length > 0, { description: 'the message' });
    expect(app.get(Emails).seen).toEqual([{ payload: { to: 'a@b.c' }, id: message.id }]);
  });

  it('publishes events that a handler of their type receives, with and without the suffix', async () => {
    const bus = EventBusModule.forRoot({
      driver: kafkajs({ brokers }),
      bindings: { users: { topic: names.TOPIC_USERS, groupId: unique('user-events-group') } },
    });
    const app = await start([bus], [PasswordChangedHandler]);
    const event = BaseEvent.of(
      { eventType: EventTypes.PASSWORD_CHANGED, eventSource: Emails },
      { userId: 'u1' },
    );
    await app.get(EventPublisherService).publishUserEvent(event);
    const handler = app.get(PasswordChangedHandler);
    await eventually(() => handler.seen.length > 0, { description: 'the event' });
    expect(handler.seen).toEqual(['u1']);
  });

  it('shows messages of a transaction only after its commit', async () => {
    const app = await start([], [], 'messaging.producer.transactional-enabled=true');
    const results = await Promise.all(
      ['a', 'x'.repeat(2_000_000), 'b'].map((payload) =>
        app.get(KafkaMessageProducer).send(payload, names.TOPIC_OCR, 'k'),
      ),
    );
    expect(results.map(({ success }) => success)).toEqual([true, false, true]);
    const values = (await recordsOf(names.TOPIC_OCR)).map(({ value }) => String(value));
    expect(values.toSorted()).toEqual(['"a"', '"b"']);
  });

  it('reports the cluster in its health', async () => {
    const app = await start();
    await expect(app.get(MessagingHealth).check()).resolves.toMatchObject({
      status: 'UP',
      brokers: { KAFKA: { status: 'UP', brokersAvailable: 1, clusterId: expect.any(String) } },
    });
  });

  it('starts without a broker, fails messages in time, and reports DOWN', async () => {
    const module = MessagingModule.forRoot({
      properties: 'messaging.producer.send-timeout-seconds=1',
      kafka: { brokers: '127.0.0.1:1', requestTimeoutMs: 1_000 },
      provisioning: 'none',
    });
    const app = await Test.createTestingModule({ imports: [module] }).compile();
    await app.init();
    apps.push(app);
    const result = await app.get(KafkaMessageProducer).send('a', names.TOPIC_EMAILS);
    expect(result.success).toBe(false);
    await expect(app.get(MessagingHealth).check()).resolves.toMatchObject({ status: 'DOWN' });
  });
});
