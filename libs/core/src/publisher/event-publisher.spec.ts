import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import type { BrokerDriver, BrokerRecord } from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import { SchemaRegistryUnavailableException } from '../errors/schema-registry-errors.js';
import { bindingNameOf } from '../model/states/binding-ref.js';
import { jsonSerializer } from '../pipeline/decoding/plain-formats.js';
import { EventPublisher, type PublishTarget } from './event-publisher.js';

const registryDown = new SchemaRegistryUnavailableException('No answer.');

describe('EventPublisher', () => {
  let broker: MemoryBroker;
  let driver: BrokerDriver;

  beforeEach(async () => {
    broker = new MemoryBroker();
    driver = memory({ broker });
    await driver.admin().createTopics([{ name: 'orders.events', partitions: 1 }]);
  });
  afterEach(() => driver.close());

  const publisher = (target: Partial<PublishTarget> = {}): EventPublisher => {
    const producer = driver.producer({ deliveryTimeoutMs: 200 });
    return new EventPublisher((binding) => ({
      binding: bindingNameOf(binding),
      topic: target.topic ?? 'orders.events',
      typeFrom: target.typeFrom ?? 'event-type',
      serializer: target.serializer ?? jsonSerializer,
      producer: target.producer ?? (() => producer),
    }));
  };
  const written = async (): Promise<BrokerRecord> => {
    for await (const record of driver.admin().readRange('orders.events', 0, 0, 1)) return record;
    throw new Error('nothing was written');
  };

  it('writes an object as JSON and returns its position', async () => {
    const place = await publisher().publish('orders', { id: 1 }, { key: 'customer-7' });
    expect(place).toMatchObject({ topic: 'orders.events', partition: 0, offset: 0n });
    const record = await written();
    expect(record.value?.toString()).toBe('{"id":1}');
    expect(record.key?.toString()).toBe('customer-7');
    expect(record.headers).toEqual([]);
  });

  it('writes the type to the header from which the binding reads it', async () => {
    const headers = { kind: 'mine', trace: ['a', Buffer.from('b')] };
    await publisher({ typeFrom: 'kind' }).publish('orders', {}, { type: 'Placed', headers });
    expect((await written()).headers.map(({ key, value }) => [key, value?.toString()])).toEqual([
      ['trace', 'a'],
      ['trace', 'b'],
      ['kind', 'Placed'],
    ]);
  });

  it('drops headers that the bus has written, if the caller copies them from a record', async () => {
    const headers = {
      'x-eventbus-original-offset': '7',
      'x-eventbus-replay-count': '1',
      'x-eventbus-tier1-attempts': '3',
      'correlation-id': 'c-1',
      traceparent: 'mine',
    };
    await publisher().publish('orders', {}, { headers });
    expect((await written()).headers.map(({ key }) => key)).toEqual([
      'correlation-id',
      'traceparent',
    ]);
  });

  it('refuses a type if the binding reads the type from the value', async () => {
    await expect(
      publisher({ typeFrom: '$.type' }).publish('orders', {}, { type: 'Placed' }),
    ).rejects.toThrow('its types are read from the field $.type of the value');
  });

  it('writes a Buffer unchanged, and null as a tombstone', async () => {
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
  ])('refuses %s and names the problem', async (_what, event, message) => {
    const attempt = publisher().publish('orders', event);
    await expect(attempt).rejects.toThrow(message);
    await expect(attempt).rejects.toBeInstanceOf(EventPublishException);
  });

  describe('with the serializer of the binding', () => {
    const headersOf = async () =>
      (await written()).headers.map(({ key, value }) => [key, value?.toString()]);

    it("adds its headers; the caller's headers and the type override them", async () => {
      const serializer = {
        name: 'mine',
        serialize: () => ({ value: 'x', headers: { a: '1', b: '1', kind: '1' } }),
      };
      const options = { type: 'Placed', headers: { b: '2' } };
      await publisher({ serializer, typeFrom: 'kind' }).publish('orders', {}, options);
      expect(await headersOf()).toEqual([
        ['a', '1'],
        ['b', '2'],
        ['kind', 'Placed'],
      ]);
    });

    it('waits for an asynchronous serializer', async () => {
      const serializer = { name: 'mine', serialize: async () => ({ value: Buffer.from('later') }) };
      await publisher({ serializer }).publish('orders', {});
      expect((await written()).value?.toString()).toBe('later');
    });

    it.each([
      ['throws', () => Promise.reject(new RangeError('too long')), 'failed with RangeError'],
      ['returns nothing', () => undefined, "the serializer 'mine' returned undefined"],
      ['returns no object', () => 'text', "the serializer 'mine' returned string"],
      ['resolves to null', () => Promise.resolve(null), "the serializer 'mine' returned null"],
      ['returns a number', () => ({ value: 5 }), 'must return a Buffer or a string'],
    ])('names the binding in the error if the serializer %s', async (_, serialize, message) => {
      const serializer = { name: 'mine', serialize: serialize as never };
      const attempt = publisher({ serializer }).publish('orders', {});
      await expect(attempt).rejects.toThrow(message);
      await expect(attempt).rejects.toThrow("Cannot publish to binding 'orders'");
      await expect(attempt).rejects.toBeInstanceOf(EventPublishException);
    });

    it('keeps the order of events that are published without waiting', async () => {
      const one = publisher();
      await Promise.all([1, 2, 3].map((id) => one.publish('orders', id, { key: 'a' })));
      const values: unknown[] = [];
      for await (const { value } of driver.admin().readRange('orders.events', 0, 0, 3)) {
        values.push(value?.toString());
      }
      expect(values).toEqual(['1', '2', '3']);
    });
  });

  describe('with a cause', () => {
    const trace = [
      ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
      ['tracestate', 'shop=1'],
      ['baggage', 'user=7'],
    ] as const;
    const raw = {
      headers: [...trace, ['secret', 'x'] as const].map(([key, value]) => ({
        key,
        value: Buffer.from(value),
      })),
    };
    const headers = { get: (name: string) => new Map<string, string>(trace).get(name) };
    const traceOf = async () =>
      (await written()).headers.map(({ key, value }) => [key, value?.toString()]);

    it.each([
      ['the context', { raw } as never],
      ['the record or the metadata', { headers } as never],
    ])('copies the trace headers of %s and no other header', async (_, cause) => {
      await publisher().publish('orders', {}, { cause });
      expect(await traceOf()).toEqual(trace);
    });

    it('keeps the trace headers that the caller passes', async () => {
      const options = { cause: { raw } as never, headers: { traceparent: 'mine' } };
      await publisher().publish('orders', {}, options);
      expect(await traceOf()).toEqual([...trace.slice(1), ['traceparent', 'mine']]);
    });
  });

  describe('with a failed write', () => {
    const notWritten = { code: 'EVENT_PUBLISH', fate: 'not-written' };

    it('reports a missing topic as not written and retriable', async () => {
      const attempt = publisher({ topic: 'nowhere' }).publish('orders', {});
      await expect(attempt).rejects.toMatchObject({ ...notWritten, retriable: true });
      await expect(attempt).rejects.toThrow(/topic 'nowhere'. It was not written\. /);
    });

    it('reports an event that is too large as not written and not retriable', async () => {
      const config = { 'max.message.bytes': '100' };
      await driver.admin().createTopics([{ name: 'small', partitions: 1, config }]);
      const attempt = publisher({ topic: 'small' }).publish('orders', 'x'.repeat(1_000));
      await expect(attempt).rejects.toMatchObject({ ...notWritten, retriable: false });
      await expect(attempt).rejects.toThrow(/It was not written\. /);
    });

    it('reports a missing authorization as not written and not retriable', async () => {
      broker.faults.refuse({ operation: 'produce' }, 'TOPIC_AUTHORIZATION_FAILED');
      await expect(publisher().publish('orders', {})).rejects.toMatchObject({
        ...notWritten,
        retriable: false,
      });
    });

    it('reports a lost acknowledgement as unknown, because a second write may duplicate the event', async () => {
      broker.faults.loseAnswers({ operation: 'produce' });
      const attempt = publisher().publish('orders', {});
      await expect(attempt).rejects.toMatchObject({ fate: 'unknown', retriable: true });
      await expect(attempt).rejects.toThrow(/publishing it again may write it twice/);
      expect((await written()).value?.toString()).toBe('{}');
    });

    it('reports as unknown if the driver returns no position', async () => {
      const mute = publisher({ producer: () => ({ send: async () => [] }) as never });
      await expect(mute.publish('orders', {})).rejects.toMatchObject({
        fate: 'unknown',
        retriable: false,
      });
    });

    it.each([
      ['fails', new TypeError('a cycle'), false],
      ['cannot reach its registry', registryDown, true],
    ])('reports a serializer that %s as not written', async (_, cause, retriable) => {
      const serializer = { name: 'mine', serialize: () => Promise.reject(cause) };
      await expect(publisher({ serializer }).publish('orders', {})).rejects.toMatchObject({
        ...notWritten,
        retriable,
      });
    });
  });
});
