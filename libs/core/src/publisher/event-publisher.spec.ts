import { memory } from '@nest-event-bus/broker/memory';
import type { BrokerDriver, BrokerRecord } from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import { nameOf } from '../model/binding-ref.js';
import { EventPublisher } from './event-publisher.js';

describe('EventPublisher', () => {
  let driver: BrokerDriver;

  beforeEach(async () => {
    driver = memory();
    await driver.admin().createTopics([{ name: 'orders.events', partitions: 1 }]);
  });
  afterEach(() => driver.close());

  const publisher = (target: { topic?: string; typeFrom?: string } = {}): EventPublisher => {
    const producer = driver.producer({ deliveryTimeoutMs: 200 });
    return new EventPublisher((binding) => ({
      binding: nameOf(binding),
      topic: target.topic ?? 'orders.events',
      typeFrom: target.typeFrom ?? 'event-type',
      producer,
    }));
  };
  const written = async (): Promise<BrokerRecord> => {
    for await (const record of driver.admin().readRange('orders.events', 0, 0, 1)) return record;
    throw new Error('nothing was written');
  };

  it('writes an object as JSON and tells where it is', async () => {
    const place = await publisher().publish('orders', { id: 1 }, { key: 'customer-7' });
    expect(place).toMatchObject({ topic: 'orders.events', partition: 0, offset: 0n });
    const record = await written();
    expect(record.value?.toString()).toBe('{"id":1}');
    expect(record.key?.toString()).toBe('customer-7');
    expect(record.headers).toEqual([]);
  });

  it('names the type in the header that the binding reads it from', async () => {
    const headers = { kind: 'mine', trace: ['a', Buffer.from('b')] };
    await publisher({ typeFrom: 'kind' }).publish('orders', {}, { type: 'Placed', headers });
    expect((await written()).headers.map(({ key, value }) => [key, value?.toString()])).toEqual([
      ['trace', 'a'],
      ['trace', 'b'],
      ['kind', 'Placed'],
    ]);
  });

  it('refuses a type where the binding reads it from the value', async () => {
    await expect(
      publisher({ typeFrom: '$.type' }).publish('orders', {}, { type: 'Placed' }),
    ).rejects.toThrow('its types are read from the field $.type of the value');
  });

  it('keeps the bytes of a Buffer, and null is a tombstone', async () => {
    const bytes = Buffer.from([0, 255, 1]);
    await publisher().publish('orders', bytes);
    expect((await written()).value).toEqual(bytes);
    await publisher().publish('orders', null, { key: 'gone' });
    for await (const record of driver.admin().readRange('orders.events', 0, 1, 2)) {
      expect(record.value).toBeNull();
    }
  });

  it.each([
    ['undefined', undefined, 'undefined has no JSON form'],
    ['a function', () => 1, 'function has no JSON form'],
    ['a bigint', { id: 1n }, 'cannot be written as JSON'],
  ])('refuses %s with what to do', async (_what, event, message) => {
    const attempt = publisher().publish('orders', event);
    await expect(attempt).rejects.toThrow(message);
    await expect(attempt).rejects.toBeInstanceOf(EventPublishException);
  });

  it('says that the event was not written when its topic is missing', async () => {
    const attempt = publisher({ topic: 'nowhere' }).publish('orders', {});
    await expect(attempt).rejects.toMatchObject({ code: 'EVENT_PUBLISH', retriable: true });
    await expect(attempt).rejects.toThrow(/topic 'nowhere'. It was not written/);
  });
});
