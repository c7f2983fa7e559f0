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
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { errorOf, World } from '../support/application.spec-support.js';

class OrderPlaced {
  id!: number;
}

let world: World;
let handled: unknown[];
let keys: (string | null)[];
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
  world = new World();
  handled = [];
  keys = [];
  contexts = [];
  await world.topic('orders');
});
afterEach(() => world.end());

/** Without a road to other topics: what fails stays, and shows. */
const start = (properties: object) =>
  world.startOrders([Orders], { retry: { tiers: [], tier0: { maxAttempts: 1 } }, ...properties });

const header = (key: string, value: string) => ({ key, value: Buffer.from(value) });
const typed = (id: number, type: string) => ({
  value: JSON.stringify({ id }),
  headers: [header('__TypeId__', type)],
});

describe('deserializer', () => {
  it.each<[string, Deserializer['deserialize']]>([
    ['its bytes', (bytes) => bytes],
    ['a part of them', (bytes) => bytes.subarray(1)],
    ['those of the record', (_, record) => record.value],
    ['those of a header', (_, { headers: [first] }) => first?.value],
    ['those of the key, later', (_, { key }) => Promise.resolve(key)],
  ])('may give %s: a handler that writes into them changes no dead letter', async (_, give) => {
    for (const topic of ['scribbles', 'scribbles.DLT']) await world.topic(topic);
    @Injectable()
    class Scribbler {
      @EventHandler('scribbles')
      scribble({ value }: EventRecord): never {
        (value as Buffer).fill(0);
        throw new Error('no');
      }
    }
    const scribbles: TopicBindingProperties = {
      topic: 'scribbles',
      groupId: 'scribbles',
      deserializer: { name: 'mine', deserialize: give },
      retry: { tier0: { maxAttempts: 2, initialBackoffMs: 1 }, tiers: [] },
    };
    await world.start({
      imports: [world.bus({ bindings: { scribbles } })],
      providers: [Scribbler],
    });
    const headers = [{ key: 'h', value: 'header' }];
    await world.write('scribbles', { key: 'key', value: 'value', headers });
    await world.runtime.advance(1_000);
    const [letter] = await world.records('scribbles.DLT');
    expect([letter!.key, letter!.value, letter!.headers[0]?.value].map(String)).toEqual([
      'key',
      'value',
      'header',
    ]);
  });

  const mine: Deserializer = { name: 'mine', deserialize: (bytes) => bytes.length };

  it.each<[unknown, unknown]>([
    [undefined, { id: 1 }],
    ['json', { id: 1 }],
    ['text', '{"id":1}'],
    ['raw', Buffer.from('{"id":1}')],
    [mine, 8],
  ])('%s decides what a handler gets', async (deserializer, value) => {
    await start(deserializer === undefined ? {} : { deserializer });
    await world.write('orders', '{"id":1}');
    expect(handled).toEqual([value]);
  });

  it('reads a binding that is registered at run time, too', async () => {
    const application = await start({});
    await world.topic('texts');
    const connector = application.get(EventBusConnector);
    const binding = { topic: 'texts', groupId: 'texts', deserializer: 'text' } as const;
    await world.done(connector.register('texts', binding, ({ value }) => void handled.push(value)));
    await world.write('texts', 'tüv');
    await world.runtime.advance(1_000);
    expect(handled).toEqual(['tüv']);
  });

  it('that says that the world is to blame lets the record wait, and all behind it', async () => {
    let isDown = true;
    const deserialize = async (bytes: Buffer): Promise<string> => {
      await Promise.resolve();
      if (isDown) throw new SchemaRegistryUnavailableException('the registry is down');
      return bytes.toString();
    };
    const application = await world.startOrders([Orders], {
      deserializer: { name: 'mine', deserialize },
    });
    await world.write('orders', 'a', 'b');
    await world.runtime.advance(600_000);
    expect(handled).toEqual([]);
    expect(await world.committed()).toBe(0);
    expect(world.health(application)).toMatchObject({ status: 'DEGRADED' });
    isDown = false;
    await world.runtime.advance(60_000);
    expect(handled).toEqual(['a', 'b']);
    expect(contexts[0]?.attempt).toMatchObject({ call: 1, total: 1 });
    expect(await world.committed()).toBe(2);
  });

  it('never fails because of a key: it is text for the handler, its bytes stay in raw', async () => {
    await start({});
    const key = Buffer.from([0x61, 0xff]);
    await world.write('orders', { key, value: '{}' }, { key: null, value: '{}' });
    expect(keys).toEqual(['a\ufffd', null]);
    expect(contexts[0]?.raw.key).toEqual(key);
  });
});

describe('typedJson', () => {
  const types = { 'com.shop.OrderPlaced': OrderPlaced, 'org.other.OrderPlaced': OrderPlaced };

  it('types become instances', async () => {
    await start({ deserializer: 'typed-json', typedJson: { types } });
    await world.write(
      'orders',
      typed(1, 'com.shop.OrderPlaced'),
      typed(2, 'org.other.OrderPlaced'),
    );
    expect(handled).toEqual([{ id: 1 }, { id: 2 }]);
    expect(handled.every((value) => value instanceof OrderPlaced)).toBe(true);
  });

  it('trustedPackages keep all others out', async () => {
    const trusted = { 'com.shop.OrderPlaced': OrderPlaced };
    const typedJson = { types: trusted, trustedPackages: ['com.shop.*'] };
    await start({ deserializer: 'typed-json', typedJson });
    await world.write(
      'orders',
      typed(2, 'org.other.OrderPlaced'),
      typed(1, 'com.shop.OrderPlaced'),
    );
    await world.runtime.advance(60_000);
    expect(handled).not.toContainEqual({ id: 2 });
  });

  it('can be what handlers are chosen by', async () => {
    @Injectable()
    class ByType {
      @EventHandler('orders', { type: 'com.shop.OrderPlaced' })
      handle({ value }: EventRecord): void {
        handled.push(value);
      }
    }
    const properties = { deserializer: 'typed-json', typedJson: { types }, typeFrom: '__TypeId__' };
    await world.startOrders([ByType], properties);
    await world.write('orders', typed(1, 'com.shop.OrderPlaced'));
    expect(handled).toEqual([{ id: 1 }]);
  });
});

describe('schemaVersion', () => {
  it('supported are the only versions that a handler gets, from where it is said', async () => {
    await start({ schemaVersion: { from: '$.version', supported: ['2'] } });
    await world.write('orders', '{"version":2}', '{"version":3}');
    await world.runtime.advance(60_000);
    expect(handled).toEqual([{ version: 2 }]);
  });
});

describe('what is published', () => {
  const publish = async (properties: object, event: unknown, options: object = {}) => {
    const application = await start(properties);
    const publisher = application.get(EventPublisher);
    await world.done(publisher.publish('orders', event, options));
    await world.runtime.advance(1_000);
  };

  it('is written by the serializer of its binding', async () => {
    const serializer = {
      name: 'mine',
      serialize: (event: unknown) => ({ value: `<${String(event)}>` }),
    };
    await publish({ deserializer: 'text', serializer }, 'a');
    expect(handled).toEqual(['<a>']);
  });

  it('is of the class that its handler gets', async () => {
    const types = { 'com.shop.OrderPlaced': OrderPlaced };
    const event = Object.assign(new OrderPlaced(), { id: 7 });
    await publish({ deserializer: 'typed-json', typedJson: { types } }, event);
    expect(handled).toEqual([event]);
    expect(handled[0]).toBeInstanceOf(OrderPlaced);
  });
});

describe('a start with Avro', () => {
  it('needs the address of a registry', async () => {
    const error = await errorOf(start({ deserializer: 'avro' }));
    expect(error).toBeInstanceOf(ConfigurationValidationException);
    expect(String(error)).toContain('schemaRegistry.url');
  });

  it('does not need the registry itself: it comes up, and its records wait', async () => {
    const application = await start({ schemaRegistry: { url: 'http://127.0.0.1:1' } });
    expect(world.health(application)).toMatchObject({ status: 'UP' });
  });

  it('may come later: a binding that is registered at run time brings the package in', async () => {
    const application = await start({});
    await world.topic('avro');
    const schemaRegistry = { url: 'http://127.0.0.1:1' };
    const binding = { topic: 'avro', groupId: 'avro', schemaRegistry };
    const connector = application.get(EventBusConnector);
    await world.done(connector.register('avro', binding, () => undefined));
    const { config } = application.get(ContainerRegistry).require('avro');
    expect(config.deserializer).toBe('avro');
  });
});
