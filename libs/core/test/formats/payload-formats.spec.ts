// oxlint-disable-next-line import/no-unassigned-import -- class-transformer's decorators need it
import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import type { TopicBindingProperties } from '../../src/config/properties/topic-binding-properties.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import { SchemaRegistryUnavailableException } from '../../src/errors/schema-registry-errors.js';
import type { Deserializer } from '../../src/model/extension-points/deserializer.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { RecordKey } from '../../src/model/records/record-key.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { errorOf, TestBus } from '../support/test-bus.spec-support.js';

class OrderPlaced {
  id!: number;
}

let testBus: TestBus;
let handled: unknown[];
let keys: RecordKey[];
let contexts: EventContext[];

@Injectable()
class Orders {
  @EventHandler('orders')
  handle({ value, key }: EventRecord, context: EventContext): void {
    handled.push(value);
    keys.push(key);
    contexts.push(context);
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  handled = [];
  keys = [];
  contexts = [];
  await testBus.topic('orders');
  await testBus.failureTopics();
});
afterEach(() => testBus.end());

/** Starts the binding without retry topics, so that a failed record is dead-lettered at once. */
const start = (properties: object) =>
  testBus.startOrders([Orders], { retry: { tiers: [], tier0: { maxAttempts: 1 } }, ...properties });

const header = (key: string, value: string) => ({ key, value: Buffer.from(value) });
const typed = (id: number, type: string) => ({
  value: JSON.stringify({ id }),
  headers: [header('__TypeId__', type)],
});

describe('deserializer', () => {
  it.each<[string, Deserializer['deserialize']]>([
    ['the bytes of its argument', (bytes) => bytes],
    ['a part of these bytes', (bytes) => bytes.subarray(1)],
    ['the value of the record', (_, record) => record.value],
    ['the value of a header', (_, { headers: [first] }) => first?.value],
    ['the bytes of the key, asynchronously', (_, { key }) => Promise.resolve(key)],
  ])(
    'may return %s: the dead letter is unchanged even if the handler overwrites the returned bytes',
    async (_, give) => {
      for (const topic of ['overwrites', 'overwrites.DLT']) await testBus.topic(topic);
      @Injectable()
      class OverwritingBytes {
        @EventHandler('overwrites')
        overwrite({ value }: EventRecord): never {
          (value as Buffer).fill(0);
          throw new Error('no');
        }
      }
      const overwrites: TopicBindingProperties = {
        topic: 'overwrites',
        groupId: 'overwrites',
        deserializer: { name: 'mine', deserialize: give },
        retry: { tier0: { maxAttempts: 2, initialBackoffMs: 1 }, tiers: [] },
      };
      await testBus.start({
        imports: [testBus.module({ bindings: { overwrites } })],
        providers: [OverwritingBytes],
      });
      const headers = [{ key: 'h', value: 'header' }];
      await testBus.write('overwrites', { key: 'key', value: 'value', headers });
      await testBus.runtime.advance(1_000);
      const [letter] = await testBus.records('overwrites.DLT');
      expect([letter!.key, letter!.value, letter!.headers[0]?.value].map(String)).toEqual([
        'key',
        'value',
        'header',
      ]);
    },
  );

  const mine: Deserializer = { name: 'mine', deserialize: (bytes) => bytes.length };

  it.each<[unknown, unknown]>([
    [undefined, { id: 1 }],
    ['json', { id: 1 }],
    ['text', '{"id":1}'],
    ['raw', Buffer.from('{"id":1}')],
    [mine, 8],
  ])('%s decides which value a handler receives', async (deserializer, value) => {
    await start(deserializer === undefined ? {} : { deserializer });
    await testBus.write('orders', '{"id":1}');
    expect(handled).toEqual([value]);
  });

  it('applies to a binding that is registered at run time', async () => {
    const application = await start({});
    await testBus.topic('texts');
    const connector = application.get(EventBusConnector);
    const binding = { topic: 'texts', groupId: 'texts', deserializer: 'text' } as const;
    await testBus.done(
      connector.register('texts', binding, ({ value }) => void handled.push(value)),
    );
    await testBus.write('texts', 'tüv');
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual(['tüv']);
  });

  it('lets the record and all records behind it wait if it reports an unavailable dependency', async () => {
    let isDown = true;
    const deserialize = async (bytes: Buffer): Promise<string> => {
      await Promise.resolve();
      if (isDown) throw new SchemaRegistryUnavailableException('the registry is down');
      return bytes.toString();
    };
    const application = await testBus.startOrders([Orders], {
      deserializer: { name: 'mine', deserialize },
    });
    await testBus.write('orders', 'a', 'b');
    await testBus.runtime.advance(600_000);
    expect(handled).toEqual([]);
    expect(await testBus.committed()).toBe(0);
    expect(testBus.health(application)).toMatchObject({ status: 'DEGRADED' });
    isDown = false;
    await testBus.runtime.advance(60_000);
    expect(handled).toEqual(['a', 'b']);
    expect(contexts[0]?.attempt).toMatchObject({ call: 1, total: 1 });
    expect(await testBus.committed()).toBe(2);
  });

  it('never fails because of a key: the handler receives the bytes of a key that is no text', async () => {
    await start({});
    const key = Buffer.from([0x61, 0xff]);
    await testBus.write('orders', { key, value: '{}' }, { key: null, value: '{}' });
    expect(keys).toEqual([key, null]);
    expect(contexts[0]?.raw.key).toEqual(key);
  });
});

describe('typedJson', () => {
  const types = { 'com.shop.OrderPlaced': OrderPlaced, 'org.other.OrderPlaced': OrderPlaced };

  it('creates instances of the registered types', async () => {
    await start({ deserializer: 'typed-json', typedJson: { types } });
    await testBus.write(
      'orders',
      typed(1, 'com.shop.OrderPlaced'),
      typed(2, 'org.other.OrderPlaced'),
    );
    expect(handled).toEqual([{ id: 1 }, { id: 2 }]);
    expect(handled.every((value) => value instanceof OrderPlaced)).toBe(true);
  });

  it('rejects types outside trustedPackages', async () => {
    const trusted = { 'com.shop.OrderPlaced': OrderPlaced };
    const typedJson = { types: trusted, trustedPackages: ['com.shop.*'] };
    await start({ deserializer: 'typed-json', typedJson });
    await testBus.write(
      'orders',
      typed(2, 'org.other.OrderPlaced'),
      typed(1, 'com.shop.OrderPlaced'),
    );
    await testBus.runtime.advance(60_000);
    expect(handled).not.toContainEqual({ id: 2 });
  });

  it('sets the type by which the handler is chosen', async () => {
    @Injectable()
    class ByType {
      @EventHandler('orders', { type: 'com.shop.OrderPlaced' })
      handle({ value }: EventRecord): void {
        handled.push(value);
      }
    }
    const properties = { deserializer: 'typed-json', typedJson: { types }, typeFrom: '__TypeId__' };
    await testBus.startOrders([ByType], properties);
    await testBus.write('orders', typed(1, 'com.shop.OrderPlaced'));
    expect(handled).toEqual([{ id: 1 }]);
  });
});

describe('schemaVersion', () => {
  it("limits the versions that a handler receives to those in 'supported'", async () => {
    await start({ schemaVersion: { from: '$.version', supported: ['2'] } });
    await testBus.write('orders', '{"version":2}', '{"version":3}');
    await testBus.runtime.advance(60_000);
    expect(handled).toEqual([{ version: 2 }]);
  });
});

describe('A published message', () => {
  const publish = async (properties: object, event: unknown, options: object = {}) => {
    const application = await start(properties);
    const publisher = application.get(EventPublisher);
    await testBus.done(publisher.publish('orders', event, options));
    await testBus.runtime.advance(1_000);
  };

  it('is written by the serializer of its binding', async () => {
    const serializer = {
      name: 'mine',
      serialize: (event: unknown) => ({ value: `<${String(event)}>` }),
    };
    await publish({ deserializer: 'text', serializer }, 'a');
    expect(handled).toEqual(['<a>']);
  });

  it('arrives as an instance of the class that its handler expects', async () => {
    const types = { 'com.shop.OrderPlaced': OrderPlaced };
    const event = Object.assign(new OrderPlaced(), { id: 7 });
    await publish({ deserializer: 'typed-json', typedJson: { types } }, event);
    expect(handled).toEqual([event]);
    expect(handled[0]).toBeInstanceOf(OrderPlaced);
  });
});

describe('An application with Avro', () => {
  it('does not start without the address of a schema registry', async () => {
    const error = await errorOf(start({ deserializer: 'avro' }));
    expect(error).toBeInstanceOf(ConfigurationValidationException);
    expect(String(error)).toContain('schemaRegistry.url');
  });

  it('starts without a reachable schema registry, and lets its records wait', async () => {
    const application = await start({ schemaRegistry: { url: 'http://127.0.0.1:1' } });
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
  });

  it('may load the Avro package later, for a binding that is registered at run time', async () => {
    const application = await start({});
    await testBus.topic('avro');
    const schemaRegistry = { url: 'http://127.0.0.1:1' };
    const binding = { topic: 'avro', groupId: 'avro', schemaRegistry };
    const connector = application.get(EventBusConnector);
    await testBus.done(connector.register('avro', binding, () => undefined));
    const { config } = application.get(ContainerRegistry).require('avro');
    expect(config.deserializer).toBe('avro');
  });
});
