import { InvalidOptionError, UnsupportedError } from '@nest-event-bus/broker';
import type { ServerProperties } from 'amqplib';
import { missingFeature } from './publish-channel.js';
import { rabbitMqSettings } from './rabbit-options.js';
import { amqpMessage } from './record-codec.js';

describe('amqpMessage', () => {
  const record = { topic: 'orders', value: 'a' };

  it('keeps key, headers and the time in milliseconds', () => {
    const headers = [
      { key: 'one', value: 'x' },
      { key: 'many', value: '1' },
      { key: 'many', value: Buffer.from('2') },
      { key: 'bytes', value: Buffer.from([255, 0]) },
      { key: 'none', value: null },
    ];
    expect(amqpMessage({ ...record, key: Buffer.from('k'), headers }, 1_999)).toEqual({
      content: Buffer.from('a'),
      headers: {
        one: 'x',
        many: ['1', '2'],
        bytes: Buffer.from([255, 0]),
        none: null,
        'x-record-key': 'k',
        'x-record-timestamp': '1999',
      },
      timestamp: 1,
      sizeInBytes: 27,
    });
  });

  it('tells a tombstone from an empty value', () => {
    const tombstone = amqpMessage({ topic: 'orders', value: null }, 0);
    expect(tombstone).toMatchObject({ headers: { 'x-record-tombstone': true } });
    const empty = amqpMessage({ topic: 'orders', value: '' }, 0);
    expect(empty.headers).not.toHaveProperty('x-record-tombstone');
    expect([tombstone.content, empty.content]).toEqual([Buffer.alloc(0), Buffer.alloc(0)]);
  });

  it.each([
    { key: 'CC', value: 'elsewhere' },
    { key: 'BCC', value: 'elsewhere' },
    { key: 'x'.repeat(256), value: 'a' },
    { key: '?', keyBytes: Buffer.from([255]), value: 'a' },
  ])('refuses a header that RabbitMQ would misunderstand: %#', (header) => {
    expect(() => amqpMessage({ ...record, headers: [header] }, 0)).toThrow(InvalidOptionError);
  });
});

describe('missingFeature', () => {
  const server = (version: string, capabilities: object): ServerProperties =>
    ({ product: 'RabbitMQ', version, capabilities }) as unknown as ServerProperties;
  const all = { publisher_confirms: true, 'connection.blocked': true };

  it.each(['3.10.8', '4.1.0'])('accepts RabbitMQ %s', (version) => {
    expect(missingFeature(server(version, all))).toBeUndefined();
  });

  it('names what the server does not have', () => {
    const missing = missingFeature(server('2.0.0', { publisher_confirms: true }));
    expect(missing).toBeInstanceOf(UnsupportedError);
    expect(missing?.message).toContain('RabbitMQ 2.0.0) has no connection.blocked');
    expect(missingFeature(server('1.0.0', {}))?.message).toContain('publisher_confirms and no');
  });
});

describe('rabbitMqSettings', () => {
  const url = 'amqp://guest:secret@localhost/shop';

  it('reads the address, and shows no password of it', () => {
    expect(rabbitMqSettings({ url })).toMatchObject({
      place: 'localhost/shop',
      host: 'localhost',
      port: 5672,
      connectionTimeoutMs: 5_000,
      maxUnconfirmed: 1_000,
    });
    expect(rabbitMqSettings({ url: 'amqps://localhost:1' }).port).toBe(1);
    expect(rabbitMqSettings({ url: 'amqps://localhost' }).port).toBe(5671);
  });

  it('sets the heartbeat, and the prefix of exchanges', () => {
    expect(rabbitMqSettings({ url }).url).toContain('heartbeat=10');
    expect(rabbitMqSettings({ url, heartbeatSeconds: 3 }).url).toContain('heartbeat=3');
    expect(rabbitMqSettings({ url }).exchangeOf('orders')).toBe('orders');
    expect(rabbitMqSettings({ url, exchangePrefix: 'shop' }).exchangeOf('a')).toBe('shop.a');
  });

  it.each([
    { url: 'secret' },
    { url: 'http://guest:secret@localhost' },
    { url, maxUnconfirmed: 0 },
    { url, connectionTimeoutMs: 0.5 },
    { url, heartbeatSeconds: -1 },
    { url, exchangPrefix: 'shop' },
  ])('refuses wrong options without showing the password: %#', (options) => {
    const read = (): unknown => rabbitMqSettings(options);
    expect(read).toThrow(InvalidOptionError);
    expect(read).not.toThrow(/secret/);
  });
});
