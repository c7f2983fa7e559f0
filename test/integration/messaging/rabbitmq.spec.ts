import {
  AuthenticationError,
  AuthorizationError,
  BufferFullError,
  ConnectionError,
  RecordTooLargeError,
  RefusedError,
  RequestTimeoutError,
  SendError,
  UnknownTopicError,
  UnsupportedError,
  type BrokerDriver,
  type OutgoingRecord,
  type RecordOutcome,
} from '@nest-event-bus/broker';
import { Message, MessageBrokerFactory, MessagingModule } from '@nest-event-bus/messaging';
import { rabbitmq, RECORD_HEADERS, type RabbitMqOptions } from '@nest-event-bus/messaging/rabbitmq';
import { eventually, unique } from '@nest-event-bus/testing';
import { Test } from '@nestjs/testing';
import { connect, type ChannelModel, type GetMessage } from 'amqplib';
import { describeWithRabbit } from '../support/index.js';

describeWithRabbit('The driver for RabbitMQ', {}, (rabbit) => {
  const drivers: BrokerDriver[] = [];
  let reader: ChannelModel | undefined;

  afterEach(async () => {
    await Promise.allSettled(drivers.splice(0).map((driver) => driver.close()));
    await reader?.close().catch(() => undefined);
    reader = undefined;
  });

  function driver(options: Partial<RabbitMqOptions> = {}): BrokerDriver {
    const created = rabbitmq({ url: rabbit().url, exchangePrefix: 'shop', ...options });
    drivers.push(created);
    return created;
  }

  async function channel() {
    if (!reader) {
      reader = await connect(rabbit().url);
      reader.on('error', () => undefined);
    }
    return reader.createChannel();
  }

  /** Creates a topic with a queue of the same name. */
  async function topicWithQueue(args: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const topic = unique('topic');
    const admin = driver().admin();
    await admin.createTopics([{ name: topic }]);
    const own = await channel();
    await own.assertQueue(topic, { durable: true, arguments: args });
    await own.bindQueue(topic, `shop.${topic}`, '');
    await own.close();
    return topic;
  }

  async function messagesIn(queue: string): Promise<readonly GetMessage[]> {
    const own = await channel();
    const messages: GetMessage[] = [];
    for (let next = await own.get(queue); next; next = await own.get(queue)) messages.push(next);
    await own.close();
    return messages;
  }

  const valuesIn = async (queue: string): Promise<readonly string[]> =>
    (await messagesIn(queue)).map(({ content }) => content.toString());

  /** Returns the outcome of each record, whether the send resolved or not. */
  async function outcomesOf(
    sending: Promise<readonly { readonly topic: string }[]>,
  ): Promise<readonly Pick<RecordOutcome, 'state'>[]> {
    try {
      return (await sending).map(() => ({ state: 'written' }));
    } catch (error) {
      if (error instanceof SendError) return error.outcomes;
      throw error;
    }
  }

  const causeOf = async (sending: Promise<unknown>): Promise<unknown> => {
    const error: unknown = await sending.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(SendError);
    return (error as SendError).cause;
  };

  it('sends the messages of MessagingModule with key, headers and time', async () => {
    const topic = await topicWithQueue();
    const module = MessagingModule.forRoot({
      properties:
        'messaging.default-broker=RABBITMQ\nmessaging.rabbitmq.enabled=true\nmessaging.rabbitmq.exchange-prefix=shop',
      rabbitmq: ({ exchangePrefix }) => rabbitmq({ url: rabbit().url, exchangePrefix }),
      topics: [{ name: topic, partitions: 6 }],
    });
    const app = await Test.createTestingModule({ imports: [module] }).compile();
    await app.init();
    try {
      const producer = app.get(MessageBrokerFactory).getDefaultProducer();
      const message = Message.of({ a: 1 }, topic, 'k', { origin: 'shop' });
      await expect(producer.sendAndWait(message)).resolves.toMatchObject({
        success: true,
        partition: null,
        offset: null,
      });
      const [received] = await messagesIn(topic);
      expect(received?.content.toString()).toBe('{"a":1}');
      expect(received?.properties).toMatchObject({
        deliveryMode: 2,
        timestamp: Math.floor(message.timestamp / 1_000),
        headers: {
          origin: 'shop',
          'message-id': message.id,
          [RECORD_HEADERS.key]: 'k',
          [RECORD_HEADERS.timestamp]: String(message.timestamp),
        },
      });
    } finally {
      await app.close();
    }
  });

  it('keeps the order of messages that are sent at the same time', async () => {
    const topic = await topicWithQueue();
    const producer = driver({ maxUnconfirmed: 10 }).producer();
    const values = Array.from({ length: 500 }, (_, n) => String(n));
    const sent = await Promise.all(values.map((value) => producer.send([{ topic, value }])));
    expect(sent).toHaveLength(500);
    expect(await valuesIn(topic)).toEqual(values);
  });

  it('fails a message that no queue takes, and one whose topic is missing, but no other', async () => {
    const topic = await topicWithQueue();
    const unbound = unique('unbound');
    await driver()
      .admin()
      .createTopics([{ name: unbound }]);
    const producer = driver().producer();
    const send = (to: string): Promise<unknown> => producer.send([{ topic: to, value: 'a' }]);
    const all = [send(topic), send(unbound), send('missing'), send(topic)] as const;
    await expect(all[0]).resolves.toHaveLength(1);
    await expect(causeOf(all[1])).resolves.toMatchObject({
      constructor: UnknownTopicError,
      message: expect.stringContaining('NO_ROUTE'),
    });
    await expect(causeOf(all[2])).resolves.toBeInstanceOf(UnknownTopicError);
    await expect(all[3]).resolves.toHaveLength(1);
    expect(await valuesIn(topic)).toHaveLength(2);
  });

  it('sends to a topic that was created after a message had failed', async () => {
    const topic = unique('late');
    const producer = driver().producer();
    await expect(causeOf(producer.send([{ topic, value: 'a' }]))).resolves.toBeInstanceOf(
      UnknownTopicError,
    );
    await driver()
      .admin()
      .createTopics([{ name: topic }]);
    const own = await channel();
    await own.assertQueue(topic);
    await own.bindQueue(topic, `shop.${topic}`, '');
    await expect(producer.send([{ topic, value: 'a' }])).resolves.toHaveLength(1);
  });

  it('fails a message that a full queue refuses', async () => {
    const topic = await topicWithQueue({ 'x-max-length': 1, 'x-overflow': 'reject-publish' });
    const producer = driver().producer();
    await producer.send([{ topic, value: 'a' }]);
    const cause = await causeOf(producer.send([{ topic, value: 'b' }]));
    expect(cause).toMatchObject({ constructor: RefusedError, retriable: true });
  });

  it('reports a message as unknown if only one of its queues refuses it', async () => {
    const topic = await topicWithQueue({ 'x-max-length': 1, 'x-overflow': 'reject-publish' });
    const own = await channel();
    const { queue } = await own.assertQueue(unique('second'));
    await own.bindQueue(queue, `shop.${topic}`, '');
    const producer = driver().producer();
    await producer.send([{ topic, value: 'a' }]);
    const outcomes = await outcomesOf(producer.send([{ topic, value: 'b' }]));
    expect(outcomes).toMatchObject([{ state: 'unknown', error: expect.any(RefusedError) }]);
    expect(await valuesIn(queue)).toEqual(['a', 'b']);
  });

  it('says that the server refuses a message, instead of that the connection was lost', async () => {
    const topic = unique('internal');
    const own = await channel();
    await own.assertExchange(`shop.${topic}`, 'fanout', { internal: true });
    const producer = driver().producer();
    const cause = await causeOf(producer.send([{ topic, value: 'a' }]));
    expect(cause).toMatchObject({ constructor: AuthorizationError, retriable: false });
    const other = await topicWithQueue();
    await expect(producer.send([{ topic: other, value: 'b' }])).resolves.toHaveLength(1);
  });

  it('gives messages of different producers different ids', async () => {
    const topic = await topicWithQueue();
    for (const producer of [driver().producer(), driver().producer()])
      await producer.send([{ topic, value: 'a' }]);
    const ids = (await messagesIn(topic)).map(({ properties }) => String(properties.messageId));
    expect(new Set(ids).size).toBe(2);
  });

  it('loses no confirmed message when its connection is lost ten times', async () => {
    const topic = await topicWithQueue();
    const producer = driver({ url: rabbit().proxiedUrl }).producer();
    const confirmed = new Set<string>();
    const states = new Map<string, number>();
    let next = 0;
    const progress = { isEnding: false };
    /** Sends again what was not confirmed, as an application does. */
    const stream = async (): Promise<void> => {
      while (!progress.isEnding) {
        const value = String(next++);
        for (let isDone = false; !isDone;) {
          const [outcome] = await outcomesOf(producer.send([{ topic, value }]));
          const state = outcome?.state ?? 'none';
          states.set(state, (states.get(state) ?? 0) + 1);
          isDone = state === 'written';
        }
        confirmed.add(value);
      }
    };
    const streams = Array.from({ length: 200 }, () => stream());
    for (let loss = 0; loss < 10; loss++) {
      const before = confirmed.size;
      await eventually(() => confirmed.size > before + 200, { description: 'more messages' });
      if (loss > 0) rabbit().proxy.cut();
      else
        await eventually(async () => (await rabbit().management.closeConnections()) > 0, {
          description: 'a connection to close',
          timeoutMs: 120_000,
        });
    }
    progress.isEnding = true;
    await Promise.all(streams);
    reader = undefined;
    const received = new Set(await valuesIn(topic));
    expect([...confirmed].filter((value) => !received.has(value))).toEqual([]);
    expect(confirmed.size).toBe(next);
    expect(states.get('unknown')).toBeGreaterThan(0);
  });

  it('reports messages as unknown if the server dies before it confirms them', async () => {
    const topic = await topicWithQueue();
    const producer = driver().producer();
    await producer.send([{ topic, value: 'first' }]);
    rabbit().freeze();
    const records = Array.from({ length: 25 }, (_, n): OutgoingRecord => ({
      topic,
      value: String(n),
    }));
    const sending = outcomesOf(producer.send(records));
    await rabbit().kill();
    const outcomes = await sending;
    expect(outcomes.map(({ state }) => state)).toEqual(records.map(() => 'unknown'));
    reader = undefined;
    const waiting = producer.send([{ topic, value: 'last' }]);
    await rabbit().restart();
    await expect(waiting).resolves.toHaveLength(1);
    const values = await valuesIn(topic);
    expect([values[0], values.at(-1)]).toEqual(['first', 'last']);
  });

  it('waits with bounded memory while an alarm blocks publishers', async () => {
    const topic = await topicWithQueue();
    const producer = driver().producer({ bufferBytes: 10_000 });
    await producer.send([{ topic, value: 'first' }]);
    await rabbit().raiseMemoryAlarm();
    const value = 'x'.repeat(1_000);
    const sends = Array.from({ length: 50 }, () => outcomesOf(producer.send([{ topic, value }])));
    await rabbit().clearMemoryAlarm();
    const states = (await Promise.all(sends)).flat().map(({ state }) => state);
    const written = states.filter((state) => state === 'written').length;
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThanOrEqual(10);
    expect(states.filter((state) => state === 'not-written')).toHaveLength(50 - written);
    expect(await valuesIn(topic)).toHaveLength(written + 1);
  });

  it('refuses messages that do not fit into the buffer, and ends others in time', async () => {
    const { url } = rabbit();
    const gone = url.replace(/:\d+$/, ':1');
    const producer = driver({ url: gone }).producer({ bufferBytes: 100, deliveryTimeoutMs: 500 });
    const waiting = producer.send([{ topic: 'a', value: 'x'.repeat(80) }]);
    const refused = producer.send([{ topic: 'a', value: 'x'.repeat(80) }]);
    await expect(causeOf(refused)).resolves.toBeInstanceOf(BufferFullError);
    await expect(causeOf(waiting)).resolves.toMatchObject({
      constructor: RequestTimeoutError,
      cause: expect.any(ConnectionError),
    });
  });

  it('says at once that the credentials are wrong, and never shows them', async () => {
    const wrong = rabbit().url.replace('guest:guest', 'guest:secret');
    const producer = driver({ url: wrong }).producer();
    const cause = await causeOf(producer.send([{ topic: 'a', value: 'a' }]));
    expect(cause).toBeInstanceOf(AuthenticationError);
    expect(String(cause)).not.toContain('secret');
    const admin = driver({ url: wrong }).admin();
    await expect(admin.cluster()).rejects.toBeInstanceOf(AuthenticationError);
  });

  it.each([
    { what: 'a large value', record: { value: 'x'.repeat(2_000_000) }, error: RecordTooLargeError },
    {
      what: 'headers of more than 64 KiB',
      record: { value: 'a', headers: [{ key: 'h', value: 'x'.repeat(70_000) }] },
      error: RecordTooLargeError,
    },
    {
      what: 'a header that RabbitMQ takes for a routing key',
      record: { value: 'a', headers: [{ key: 'CC', value: 'elsewhere' }] },
      error: Error,
    },
  ])('refuses $what, and sends the next message', async ({ record, error }) => {
    const topic = await topicWithQueue();
    const producer = driver().producer();
    const failing = producer.send([{ topic, ...record }]);
    const next = producer.send([{ topic, value: 'next' }]);
    await expect(causeOf(failing)).resolves.toBeInstanceOf(error);
    await expect(next).resolves.toHaveLength(1);
    expect(await valuesIn(topic)).toEqual(['next']);
  });

  it('settles every message when it is closed', async () => {
    const topic = await topicWithQueue();
    const own = driver();
    const producer = own.producer();
    const sends = Array.from({ length: 100 }, () => producer.send([{ topic, value: 'a' }]));
    await own.close();
    expect((await Promise.all(sends)).flat()).toHaveLength(100);
    await expect(causeOf(producer.send([{ topic, value: 'a' }]))).resolves.toMatchObject({
      code: 'CLOSED',
    });
    expect(await valuesIn(topic)).toHaveLength(100);
  });

  it('names what RabbitMQ cannot do', async () => {
    const own = driver();
    expect(() => own.consumer({ groupId: 'g', topics: ['a'] })).toThrow(UnsupportedError);
    expect(() => own.producer({ transactionalId: 't' })).toThrow(UnsupportedError);
    const admin = own.admin();
    await expect(admin.createTopics([{ name: 'a', partitions: 3 }])).rejects.toThrow(
      'has no partitions',
    );
    await expect(
      admin.createTopics([{ name: 'a', config: { 'retention.ms': '1' } }]),
    ).rejects.toThrow('has no retention.ms');
    await expect(admin.watermarks('a')).rejects.toBeInstanceOf(UnsupportedError);
  });

  it('creates, finds and deletes topics, and describes the server', async () => {
    const admin = driver().admin();
    const name = unique('topic');
    await expect(admin.createTopics([{ name }])).resolves.toEqual([{ name, changed: true }]);
    await expect(admin.createTopics([{ name }])).resolves.toEqual([{ name, changed: false }]);
    expect((await admin.topics([name, 'missing'])).map((topic) => topic.name)).toEqual([name]);
    await expect(admin.deleteTopics([name])).resolves.toEqual([{ name, changed: true }]);
    expect(await admin.topics([name])).toEqual([]);
    expect((await admin.cluster()).brokers).toHaveLength(1);
  });
});
