import { IllegalArgumentError } from '@nest-event-bus/core';
import { Message } from './message.js';
import { MessageResult } from './message-result.js';
import { MessagingException } from './messaging-exceptions.js';

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

const fieldsOf = (message: Message): object => Object.fromEntries(Object.entries(message));

describe('Message', () => {
  it('has a new id, the current time, no key and no headers by default', () => {
    const before = Date.now();
    const message = Message.of({ a: 1 }, 'orders');
    expect(message).toMatchObject({ payload: { a: 1 }, topic: 'orders', key: null, headers: {} });
    expect(message.id).toMatch(UUID);
    expect(message.timestamp).toBeGreaterThanOrEqual(before);
    expect(message.timestamp).toBeLessThanOrEqual(Date.now());
    expect(Message.of({ a: 1 }, 'orders').id).not.toBe(message.id);
  });

  it('has the key that is given', () => {
    expect(Message.of('a', 'orders', 'k').key).toBe('k');
  });

  it('copies its headers, and neither they nor the message can be changed', () => {
    const headers = { origin: 'shop' };
    const message = Message.of('a', 'orders', null, headers);
    headers.origin = 'changed';
    expect(message.headers).toEqual({ origin: 'shop' });
    expect(Object.isFrozen(message)).toBe(true);
    expect(Object.isFrozen(message.headers)).toBe(true);
  });

  it('makes a copy for another topic, with the same id and timestamp', () => {
    const message = Message.of('a', 'orders', 'k', { h: '1' });
    expect(message.withTopic('others')).toMatchObject({
      ...fieldsOf(message),
      topic: 'others',
    });
    expect(message.topic).toBe('orders');
  });

  it('makes a copy with another key, with the same id and timestamp', () => {
    const message = Message.of('a', 'orders', 'k', { h: '1' });
    expect(message.withKey('l')).toMatchObject({ ...fieldsOf(message), key: 'l' });
    expect(message.withKey(null).key).toBeNull();
  });

  it.each([
    ['no topic', () => Message.of('a', '')],
    ['a key that is no text', () => Message.of('a', 'orders', 7 as unknown as string)],
    ['a header that is no text', () => Message.of('a', 'orders', null, { h: 7 as never })],
    ['no topic of a copy', () => Message.of('a', 'orders').withTopic('')],
  ])('refuses %s', (_what, make) => {
    expect(make).toThrow(IllegalArgumentError);
  });
});

describe('MessageResult', () => {
  it('has the place of a message that was written', () => {
    const result = MessageResult.success('id', 'orders', 2, 9_007_199_254_740_993n);
    expect(result).toMatchObject({
      success: true,
      messageId: 'id',
      topic: 'orders',
      partition: 2,
      offset: '9007199254740993',
      errorMessage: null,
    });
    expect(result.timestamp).toBeLessThanOrEqual(Date.now());
    expect(Object.isFrozen(result)).toBe(true);
  });

  it('has no place on a broker without partitions', () => {
    expect(MessageResult.success('id', 'orders')).toMatchObject({
      success: true,
      partition: null,
      offset: null,
    });
  });

  it('has the text of a failure', () => {
    expect(MessageResult.failure('id', 'orders', 'no broker')).toMatchObject({
      success: false,
      messageId: 'id',
      topic: 'orders',
      partition: null,
      offset: null,
      errorMessage: 'no broker',
      cause: undefined,
    });
  });

  it('has the message of an exception, and the exception', () => {
    const cause = new TypeError('bad');
    const result = MessageResult.failure('id', 'orders', cause);
    expect(result).toMatchObject({ success: false, errorMessage: 'bad', cause });
  });
});

describe('MessagingException', () => {
  it('has a message', () => {
    const exception = new MessagingException('no');
    expect(exception).toMatchObject({ message: 'no', code: 'MESSAGING', retriable: true });
    expect(exception.cause).toBeUndefined();
  });

  it('has a cause, and is retriable as the cause is', () => {
    const cause = Object.assign(new Error('too large'), { retriable: false });
    expect(new MessagingException('no', cause)).toMatchObject({ cause, retriable: false });
  });

  it('has the broker, the message and the topic', () => {
    expect(new MessagingException('no', undefined, 'KAFKA', 'id', 'orders')).toMatchObject({
      brokerType: 'KAFKA',
      messageId: 'id',
      topic: 'orders',
    });
  });

  it('says which message could not be sent, where, and by which broker', () => {
    const cause = new Error('down');
    expect(MessagingException.sendFailed('7', 'orders', 'KAFKA', cause)).toMatchObject({
      message: 'Failed to send message 7 to topic orders via KAFKA',
      cause,
      brokerType: 'KAFKA',
      messageId: '7',
      topic: 'orders',
    });
  });

  it('says from which topic no message could be received', () => {
    expect(MessagingException.receiveFailed('orders', 'RABBITMQ')).toMatchObject({
      message: 'Failed to receive message from topic orders via RABBITMQ',
      brokerType: 'RABBITMQ',
      topic: 'orders',
    });
  });
});
