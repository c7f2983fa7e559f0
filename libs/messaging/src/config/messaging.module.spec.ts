import type { BrokerDriver, BrokerRecord } from '@nest-event-bus/broker';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { EventBusMetrics, EventBusModule } from '@nest-event-bus/core';
import { Injectable, Logger, Module, type DynamicModule } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Message } from '../core/message.js';
import { MessageBrokerFactory } from '../core/message-broker-factory.js';
import type { MessageBrokerType } from '../core/message-broker-type.js';
import { MessageProducer } from '../core/message-producer.js';
import { MessageResult } from '../core/message-result.js';
import {
  IllegalStateException,
  MessagingConfigurationException,
  MessagingException,
} from '../core/messaging-exceptions.js';
import { TOPICS } from '../kafka/config/topic-catalogue.js';
import { BaseEvent } from '../kafka/events/base-event.js';
import { MessagingHealth } from '../kafka/health/messaging-health.js';
import { KafkaMessageProducer } from '../kafka/producer/kafka-message-producer.js';
import { EventPublisherService } from '../service/event-publisher-service.js';
import { MessagingModule } from './messaging.module.js';
import type { MessagingModuleOptions } from './messaging-options.js';

class Invoice {
  constructor(readonly total: string) {}
}

/** A producer of the application for a broker that the library does not know. */
@Injectable()
class LogProducer extends MessageProducer {
  override getBrokerType(): MessageBrokerType {
    return 'LOG' as MessageBrokerType;
  }

  override sendAndWait<T>(message: Message<T>): Promise<MessageResult> {
    return this.deliver(message);
  }

  protected override deliver({ id, topic }: Message): Promise<MessageResult> {
    return Promise.resolve(MessageResult.success(id, topic));
  }
}

@Module({ providers: [LogProducer] })
class LogModule {}

describe('MessagingModule', () => {
  let broker: MemoryBroker;
  let driver: BrokerDriver;
  const apps: TestingModule[] = [];
  const logged: string[] = [];

  beforeEach(() => {
    broker = new MemoryBroker();
    driver = memory({ broker });
    logged.length = 0;
    for (const level of ['log', 'warn', 'error'] as const)
      jest.spyOn(Logger.prototype, level).mockImplementation((...line: readonly unknown[]) => {
        logged.push(`${level} ${String(line[0])}`);
      });
  });

  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await driver.close();
    jest.restoreAllMocks();
  });

  async function start(
    options: MessagingModuleOptions = {},
    imports: readonly (DynamicModule | (new () => object))[] = [],
  ): Promise<TestingModule> {
    const module = MessagingModule.forRoot({ kafka: memory({ broker }), ...options });
    const app = await Test.createTestingModule({ imports: [module, ...imports] }).compile();
    await app.init();
    apps.push(app);
    return app;
  }

  async function recordsOf(topic: string): Promise<readonly BrokerRecord[]> {
    const admin = driver.admin();
    try {
      const records: BrokerRecord[] = [];
      for (const { partition, low, high } of await admin.watermarks(topic))
        for await (const record of admin.readRange(topic, partition, low, high))
          records.push(record);
      return records;
    } finally {
      await admin.close();
    }
  }

  const headersOf = (record: BrokerRecord | undefined): Readonly<Record<string, string>> =>
    Object.fromEntries(
      (record?.headers ?? []).map(({ key, value }) => [key, String(value)] as const),
    );

  describe('KafkaMessageProducer', () => {
    it('writes topic, key, timestamp, payload, message id and headers of a message', async () => {
      const producer = (await start()).get(KafkaMessageProducer);
      const message = Message.of({ a: 1 }, TOPICS.TOPIC_EMAILS, 'k', { origin: 'shop' });
      const result = await producer.send(message);
      expect(result).toMatchObject({
        success: true,
        messageId: message.id,
        topic: TOPICS.TOPIC_EMAILS,
        partition: expect.any(Number),
        offset: '0',
        errorMessage: null,
      });
      const [record, ...others] = await recordsOf(TOPICS.TOPIC_EMAILS);
      expect(others).toEqual([]);
      expect(record?.partition).toBe(result.partition);
      expect(record?.timestamp).toBe(message.timestamp);
      expect([String(record?.key), String(record?.value)]).toEqual(['k', '{"a":1}']);
      expect(headersOf(record)).toEqual({ 'message-id': message.id, origin: 'shop' });
    });

    it('writes the type id of a registered class, bytes unchanged, and null as a tombstone', async () => {
      const app = await start({ types: { 'shop.Invoice': Invoice } });
      const producer = app.get(KafkaMessageProducer);
      const topic = TOPICS.TOPIC_RECEIPTS;
      await producer.send(Message.of(new Invoice('1.10'), topic, 'k', { 'message-id': 'forged' }));
      await producer.send(Message.of(Buffer.from([0, 255]), topic, 'k'));
      await producer.send(Message.of(null, topic, 'k'));
      const [typed, bytes, tombstone] = await recordsOf(topic);
      expect(headersOf(typed)).toMatchObject({ __TypeId__: 'shop.Invoice' });
      expect(headersOf(typed)['message-id']).not.toBe('forged');
      expect(String(typed?.value)).toBe('{"total":"1.10"}');
      expect(bytes?.value).toEqual(Buffer.from([0, 255]));
      expect(tombstone?.value).toBeNull();
    });

    it.each([
      { what: 'a broker that refuses', payload: 'a', refused: true },
      { what: 'a payload without JSON', payload: undefined, refused: false },
    ])('resolves with a failure after $what', async ({ payload, refused }) => {
      const producer = (await start()).get(KafkaMessageProducer);
      if (refused) broker.faults.refuse({ operation: 'produce' }, 'TOPIC_AUTHORIZATION_FAILED');
      const result = await producer.send(payload, TOPICS.TOPIC_EMAILS);
      expect(result).toMatchObject({ success: false, partition: null, offset: null });
      expect(result.errorMessage).not.toBe('');
    });

    it('throws from sendAndWait what send resolves with', async () => {
      const producer = (await start()).get(KafkaMessageProducer);
      const message = Message.of('a', TOPICS.TOPIC_EMAILS);
      await expect(producer.sendAndWait(message)).resolves.toMatchObject({ success: true });
      broker.faults.refuse({ operation: 'produce' }, 'TOPIC_AUTHORIZATION_FAILED');
      await expect(producer.sendAndWait(message)).rejects.toMatchObject({
        constructor: MessagingException,
        message: `Failed to send message ${message.id} to topic ${TOPICS.TOPIC_EMAILS} via KAFKA`,
        cause: expect.any(Error),
      });
    });

    it('ends sendAndWait after messaging.producer.send-timeout-seconds', async () => {
      const app = await start({
        properties: 'messaging.producer.send-timeout-seconds=1',
        provisioning: 'none',
      });
      const startedAt = performance.now();
      const sending = app.get(KafkaMessageProducer).sendAndWait(Message.of('a', 'missing'));
      await expect(sending).rejects.toThrow(MessagingException);
      expect(performance.now() - startedAt).toBeGreaterThan(900);
    });

    it('counts and measures messages in the metrics of the event bus', async () => {
      const app = await start({}, [EventBusModule.forRoot({ driver: memory({ broker }) })]);
      const producer = app.get(KafkaMessageProducer);
      await producer.send('a', TOPICS.TOPIC_EMAILS);
      broker.faults.refuse({ operation: 'produce' }, 'TOPIC_AUTHORIZATION_FAILED');
      await producer.send('b', TOPICS.TOPIC_EMAILS);
      const families = app.get(EventBusMetrics).collect();
      const sampleOf = (name: string): unknown =>
        families
          .find((family) => family.name === `kafka.messaging.${name}`)
          ?.samples.find(({ labels }) => labels['topic'] === TOPICS.TOPIC_EMAILS);
      expect(sampleOf('messages.sent')).toMatchObject({ value: 1 });
      expect(sampleOf('messages.failed')).toMatchObject({ value: 1 });
      expect(sampleOf('send.latency')).toMatchObject({ count: 2 });
    });

    it('opens its producer with the settings of the specification', async () => {
      const kafka = memory({ broker });
      const open = jest.spyOn(kafka, 'producer');
      const app = await start({ kafka });
      await app.get(KafkaMessageProducer).send('a', TOPICS.TOPIC_EMAILS);
      expect(open).toHaveBeenCalledTimes(1);
      expect(open).toHaveBeenCalledWith({
        idempotent: true,
        batchBytes: 16_384,
        lingerMs: 5,
        bufferBytes: 33_554_432,
        compression: 'snappy',
        // Three attempts of ten seconds.
        deliveryTimeoutMs: 30_000,
        requestTimeoutMs: 10_000,
      });
    });

    it('refuses messages after the application has shut down', async () => {
      const app = await start();
      await app.close();
      const result = await app.get(KafkaMessageProducer).send('a', TOPICS.TOPIC_EMAILS);
      expect(result.cause).toBeInstanceOf(IllegalStateException);
    });
  });

  describe('Transactions', () => {
    const properties = {
      messaging: { producer: { transactionalEnabled: true, transactionalIdPrefix: 'shop-tx-' } },
    };

    it('writes every message in a committed transaction', async () => {
      const producer = (await start({ properties })).get(KafkaMessageProducer);
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, n) => producer.send(n, TOPICS.TOPIC_EMAILS, 'k')),
      );
      expect(results.every(({ success }) => success)).toBe(true);
      const records = await recordsOf(TOPICS.TOPIC_EMAILS);
      expect(records.map(({ value }) => Number(value))).toEqual(
        Array.from({ length: 20 }, (_, n) => n),
      );
      // Each transaction ends with a marker in the log, so that the log is longer than its records.
      const admin = driver.admin();
      const marks = await admin.watermarks(TOPICS.TOPIC_EMAILS);
      await admin.close();
      expect(marks.reduce((sum, { high }) => sum + high, 0)).toBeGreaterThan(20);
    });

    it('names the producer with the prefix and a UUID, and replaces a fenced one', async () => {
      const opened: string[] = [];
      const kafka = memory({ broker });
      const open = kafka.producer.bind(kafka);
      jest.spyOn(kafka, 'producer').mockImplementation((options) => {
        opened.push(options?.transactionalId ?? '');
        return open(options);
      });
      const producer = (await start({ kafka, properties })).get(KafkaMessageProducer);
      await producer.send('a', TOPICS.TOPIC_EMAILS);
      const other = driver.producer({ transactionalId: opened[0] ?? '' });
      await (await other.transaction()).abort();
      await expect(producer.send('b', TOPICS.TOPIC_EMAILS)).resolves.toMatchObject({
        success: true,
      });
      expect(new Set(opened).size).toBe(2);
      for (const id of opened) expect(id).toMatch(/^shop-tx-[\da-f]{8}-[\da-f]{4}-/);
    });

    it('does not fail other messages with one that no broker accepts', async () => {
      const producer = (await start({ properties })).get(KafkaMessageProducer);
      const results = await Promise.all(
        ['first', 'a', 'x'.repeat(2_000_000), 'b'].map((payload) =>
          producer.send(payload, TOPICS.TOPIC_EMAILS, 'k'),
        ),
      );
      expect(results.map(({ success }) => success)).toEqual([true, true, false, true]);
      expect(await recordsOf(TOPICS.TOPIC_EMAILS)).toHaveLength(3);
    });

    it('are refused at the start if the driver has none', async () => {
      const kafka = { ...driver, capabilities: { ...driver.capabilities, transactions: false } };
      const starting = start({
        kafka: { ...kafka, producer: driver.producer } as BrokerDriver,
        properties,
      });
      await expect(starting).rejects.toThrow('of KAFKA has no transactions');
    });
  });

  describe('Topics', () => {
    it('are created with the settings of the properties, and existing ones are not changed', async () => {
      const admin = driver.admin();
      await admin.createTopics([{ name: 'shop-users', partitions: 1 }]);
      await start({
        properties: {
          messaging: {
            kafka: { topicPrefix: 'shop', defaultPartitions: 5, defaultRetentionMs: 1_000 },
          },
        },
      });
      const topics = await admin.topics();
      expect(topics).toHaveLength(28);
      const partitionsOf = (name: string): number | undefined =>
        topics.find((topic) => topic.name === name)?.partitions.length;
      expect(partitionsOf('shop-emails')).toBe(5);
      expect(partitionsOf('shop-users')).toBe(1);
      expect(await admin.topicConfig('shop-emails')).toMatchObject({ 'retention.ms': '1000' });
      await admin.close();
    });

    it('of the application replace the catalogue, with the same defaults', async () => {
      await start({
        topics: [{ name: 'orders' }, { name: 'audit', partitions: 1, retentionMs: -1 }],
      });
      const admin = driver.admin();
      const topics = await admin.topics();
      const partitions = topics.map((topic) => [topic.name, topic.partitions.length] as const);
      expect(Object.fromEntries(partitions)).toEqual({ audit: 1, orders: 3 });
      expect(await admin.topicConfig('audit')).toMatchObject({ 'retention.ms': '-1' });
      await admin.close();
    });

    it('are not created with provisioning none', async () => {
      await start({ provisioning: 'none' });
      const admin = driver.admin();
      expect(await admin.topics()).toEqual([]);
      await admin.close();
    });

    it('are created in the background while the broker refuses, which is logged', async () => {
      const fault = broker.faults.refuse(
        { operation: 'create-topics' },
        'CLUSTER_AUTHORIZATION_FAILED',
      );
      const starting = start({ topics: [{ name: 'orders' }] });
      const until = performance.now() + 60_000;
      while (fault.hits < 2 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 10));
      fault.lift();
      await starting;
      expect(logged.some((line) => line.startsWith('warn The topics could not be created'))).toBe(
        true,
      );
      const producing = apps[0]?.get(KafkaMessageProducer).send('a', 'orders');
      await expect(producing).resolves.toMatchObject({ success: true });
    });
  });

  describe('Switches', () => {
    it.each([
      { properties: 'messaging.enabled=false', reason: 'messaging.enabled is false' },
      { properties: 'messaging.kafka.enabled=false', reason: 'messaging.kafka.enabled is false' },
      { kafka: undefined, reason: 'MessagingModule has no option kafka' },
    ])('leave Kafka out without a connection: $reason', async ({ reason, ...options }) => {
      const app = await start(options);
      const factory = app.get(MessageBrokerFactory);
      expect(factory.isSupported('KAFKA')).toBe(false);
      expect(() => factory.getDefaultProducer()).toThrow(IllegalStateException);
      const result = await app.get(KafkaMessageProducer).send('a', 'orders');
      expect(result.errorMessage).toContain('Messaging via KAFKA is switched off');
      await expect(app.get(MessagingHealth).check()).resolves.toMatchObject({ status: 'DISABLED' });
      expect(logged).toContain(`log Messaging does not use KAFKA: ${reason}`);
      const admin = driver.admin();
      expect(await admin.topics()).toEqual([]);
      await admin.close();
    });

    it('make RabbitMQ a second broker with the prefixes of the properties', async () => {
      const rabbitmq = jest.fn(() => memory());
      const app = await start({
        rabbitmq,
        properties:
          'messaging.default-broker=RABBITMQ\nmessaging.rabbitmq.enabled=true\nmessaging.rabbitmq.exchange-prefix=ex',
      });
      expect(rabbitmq).toHaveBeenCalledWith({ exchangePrefix: 'ex', queuePrefix: 'unraveldocs' });
      const factory = app.get(MessageBrokerFactory);
      expect(factory.getSupportedBrokers()).toEqual(new Set(['KAFKA', 'RABBITMQ']));
      expect(factory.getDefaultBrokerType()).toBe('RABBITMQ');
      await expect(
        factory.getDefaultProducer().send('a', TOPICS.TOPIC_EMAILS),
      ).resolves.toMatchObject({ success: true });
      expect(await recordsOf(TOPICS.TOPIC_EMAILS)).toEqual([]);
    });

    it('refuse RabbitMQ without a driver, and warn of a default broker that is not there', async () => {
      const starting = start({ properties: 'messaging.rabbitmq.enabled=true' });
      await expect(starting).rejects.toThrow(MessagingConfigurationException);
      await start({ properties: 'messaging.default-broker=RABBITMQ' });
      expect(
        logged.some((line) => line.startsWith('warn messaging.default-broker is RABBITMQ')),
      ).toBe(true);
    });
  });

  it('finds producers of the application', async () => {
    const app = await start({ kafka: undefined }, [LogModule]);
    const factory = app.get(MessageBrokerFactory);
    expect(factory.getDefaultProducer()).toBe(app.get(LogProducer));
    await expect(factory.getDefaultProducer().send('a', 'orders')).resolves.toMatchObject({
      success: true,
    });
  });

  it('takes its options from a factory', async () => {
    const module = MessagingModule.forRootAsync({
      useFactory: () =>
        Promise.resolve({ kafka: memory({ broker }), topics: [{ name: 'orders' }] }),
    });
    const app = await Test.createTestingModule({ imports: [module] }).compile();
    await app.init();
    apps.push(app);
    const producer = app.get(KafkaMessageProducer);
    await expect(producer.send('a', 'orders')).resolves.toMatchObject({ success: true });
  });

  it('reports the health of its brokers', async () => {
    const app = await start();
    const health = app.get(MessagingHealth);
    await expect(health.check()).resolves.toMatchObject({
      status: 'UP',
      brokers: { KAFKA: { status: 'UP', brokersAvailable: 1 } },
    });
    broker.faults.refuse({ operation: 'metadata' }, 'CLUSTER_AUTHORIZATION_FAILED');
    await expect(health.check()).resolves.toMatchObject({
      status: 'DOWN',
      brokers: { KAFKA: { status: 'DOWN', error: expect.any(String) } },
    });
  });

  describe('EventPublisherService', () => {
    class TeamService {}
    const event = BaseEvent.of(
      { eventType: 'TeamCreated', eventSource: TeamService, correlationId: 'c', eventTimestamp: 5 },
      { team: 'a' },
    );

    it('publishes a payload with its metadata as headers, keyed by the correlation id', async () => {
      const app = await start();
      const result = await app.get(EventPublisherService).publishEvent(TOPICS.TOPIC_OCR, event);
      expect(result.success).toBe(true);
      const [record] = await recordsOf(TOPICS.TOPIC_OCR);
      expect([String(record?.key), String(record?.value)]).toEqual(['c', '{"team":"a"}']);
      expect(headersOf(record)).toEqual({
        'message-id': result.messageId,
        'event-type': 'TeamCreated',
        'event-source': 'TeamService',
        'event-timestamp': '5',
        'correlation-id': 'c',
      });
      const line = logged.find((each) => each.startsWith('log Event published'));
      expect(line).toContain('"eventType":"TeamCreated","correlationId":"c"');
      expect(line).toContain(TOPICS.TOPIC_OCR);
    });

    it.each([
      ['publishUserEvent', 'users'],
      ['publishTeamEvent', 'team-events'],
      ['publishAdminEvent', 'admin-events'],
      ['publishOcrEvent', 'ocr'],
    ] as const)('sends with %s to the topic %s of the prefix', async (method, topic) => {
      const app = await start({ properties: 'messaging.kafka.topic-prefix=shop' });
      await app.get(EventPublisherService)[method](event);
      expect(await recordsOf(`shop-${topic}`)).toHaveLength(1);
    });

    it('logs a failure and rejects with it', async () => {
      const app = await start();
      broker.faults.refuse({ operation: 'produce' }, 'TOPIC_AUTHORIZATION_FAILED');
      const publishing = app.get(EventPublisherService).publishTeamEvent(event);
      await expect(publishing).rejects.toThrow(/^Failed to send message \S+ to topic unraveldocs-/);
      const line = logged.find((each) => each.startsWith('error An event could not be published'));
      expect(line).toContain('"eventType":"TeamCreated"');
      expect(line).not.toContain('"team":"a"');
    });

    it('only logs a failure in the background', async () => {
      const app = await start({ kafka: undefined });
      app.get(EventPublisherService).publishInBackground('orders', event);
      await new Promise((resolve) => setImmediate(resolve));
      expect(logged.some((line) => line.startsWith('error An event could not'))).toBe(true);
    });
  });
});
