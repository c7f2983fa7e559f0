import { IllegalArgumentError } from '@nest-event-bus/core';
import { Message } from './message.js';
import { MessageBrokerFactory } from './message-broker-factory.js';
import type { BatchMessageHandler, MessageConsumer, MessageHandler } from './message-consumer.js';
import { MessageProducer } from './message-producer.js';
import { MessageResult } from './message-result.js';
import { IllegalStateException, MessagingConfigurationException } from './messaging-exceptions.js';
import type { MessageBrokerType } from './message-broker-type.js';

class FakeProducer extends MessageProducer {
  readonly sent: Message[] = [];

  constructor(
    private readonly type: MessageBrokerType,
    private readonly enabled = true,
  ) {
    super();
  }

  override getBrokerType(): MessageBrokerType {
    return this.type;
  }

  override isEnabled(): boolean {
    return this.enabled;
  }

  override sendAndWait<T>(message: Message<T>): Promise<MessageResult> {
    return this.deliver(message);
  }

  protected override deliver(message: Message): Promise<MessageResult> {
    this.sent.push(message);
    return Promise.resolve(MessageResult.success(message.id, message.topic));
  }
}

const kafka = new FakeProducer('KAFKA');
const rabbit = new FakeProducer('RABBITMQ');
const other = new FakeProducer('OTHER' as MessageBrokerType);
const factoryOf = (
  producers: readonly MessageProducer[],
  preferred: MessageBrokerType = 'KAFKA',
): MessageBrokerFactory => new MessageBrokerFactory(() => producers, preferred);

describe('MessageBrokerFactory', () => {
  it.each([
    { producers: [other, rabbit, kafka], preferred: 'KAFKA', expected: kafka },
    { producers: [other, rabbit, kafka], preferred: 'RABBITMQ', expected: rabbit },
    { producers: [other, kafka], preferred: 'RABBITMQ', expected: kafka },
    { producers: [other, rabbit], preferred: 'KAFKA', expected: rabbit },
    { producers: [other], preferred: 'KAFKA', expected: other },
  ] as const)(
    'prefers the configured broker, then Kafka, then RabbitMQ, then the first one: %#',
    ({ producers, preferred, expected }) => {
      const factory = factoryOf(producers, preferred);
      expect(factory.getDefaultProducer()).toBe(expected);
      expect(factory.getDefaultBrokerType()).toBe(expected.getBrokerType());
    },
  );

  it('finds producers by broker, and says which brokers there are', () => {
    const factory = factoryOf([kafka]);
    expect(factory.getProducer('KAFKA')).toBe(kafka);
    expect(factory.getProducerIfAvailable('RABBITMQ')).toBeUndefined();
    expect(factory.isSupported('KAFKA')).toBe(true);
    expect(factory.isSupported('RABBITMQ')).toBe(false);
    expect(factory.getSupportedBrokers()).toEqual(new Set(['KAFKA']));
  });

  it('throws an illegal argument for a broker without a producer', () => {
    const find = (): unknown => factoryOf([kafka]).getProducer('RABBITMQ');
    expect(find).toThrow(IllegalArgumentError);
    expect(find).toThrow('use one of: KAFKA');
  });

  it('throws an illegal state if no producer is there', () => {
    expect(() => factoryOf([]).getDefaultProducer()).toThrow(IllegalStateException);
  });

  it('leaves out a producer that is switched off', () => {
    const factory = factoryOf([new FakeProducer('KAFKA', false), rabbit]);
    expect(factory.getSupportedBrokers()).toEqual(new Set(['RABBITMQ']));
  });

  it('refuses two producers for one broker', () => {
    const factory = factoryOf([kafka, new FakeProducer('KAFKA')]);
    expect(() => factory.getDefaultProducer()).toThrow(MessagingConfigurationException);
  });
});

describe('MessageProducer', () => {
  it('sends a message, or a payload with a topic and a key', async () => {
    const producer = new FakeProducer('KAFKA');
    const message = Message.of('a', 'orders');
    await producer.send(message);
    await producer.send('b', 'orders');
    await producer.send('c', 'orders', 'k');
    await producer.send(message, 'others');
    expect(producer.sent[0]).toBe(message);
    expect(producer.sent[1]).toMatchObject({ payload: 'b', topic: 'orders', key: null });
    expect(producer.sent[2]).toMatchObject({ payload: 'c', topic: 'orders', key: 'k' });
    expect(producer.sent[3]).toMatchObject({ payload: message, topic: 'others' });
  });

  it('throws at once for arguments that make no message', () => {
    const producer = new FakeProducer('KAFKA');
    expect(() => producer.send('a' as never)).toThrow('send needs a Message');
    expect(() => producer.send('a', '')).toThrow('A message needs a topic');
  });
});

describe('MessageConsumer', () => {
  class EmailConsumer implements MessageConsumer, MessageHandler<string> {
    readonly handled: string[] = [];
    getBrokerType = (): MessageBrokerType => 'KAFKA';
    getTopics = (): readonly string[] => ['emails'];
    getGroupId = (): string => 'mailer';
    handle({ payload }: Message<string>): void {
      this.handled.push(payload);
    }
  }

  it('is an interface with a broker, topics and a group, beside a handler', () => {
    const consumer = new EmailConsumer();
    consumer.handle(Message.of('a', 'emails'));
    expect(consumer.handled).toEqual(['a']);
    expect([consumer.getBrokerType(), consumer.getTopics(), consumer.getGroupId()]).toEqual([
      'KAFKA',
      ['emails'],
      'mailer',
    ]);
  });

  it('may handle several messages together', () => {
    const handled: string[] = [];
    const handler: BatchMessageHandler<string> = {
      handle: (messages) => void handled.push(...[...messages].map(({ payload }) => payload)),
    };
    void handler.handle(new Set([Message.of('a', 'emails'), Message.of('b', 'emails')]));
    expect(handled).toEqual(['a', 'b']);
  });
});
