import {
  EventBusConnector,
  EventBusModule,
  EventHandler,
  EventPublisher,
  readDeadLetter,
  type EventRecord,
} from '@nest-event-bus/core';
import type { AdminSession, BrokerDriver } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Type } from 'avsc';
import { IsInt, IsString } from 'class-validator';
import { describeWithRegistry } from '../../support/index.js';

const ORDER = {
  type: 'record',
  name: 'Order',
  namespace: 'com.shop',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'customer', type: 'string' },
  ],
} as const;

class Order {
  @IsInt()
  id!: number;
  @IsString()
  customer!: string;
}

const handled: Order[] = [];
const keys: unknown[] = [];
let handle: (order: Order) => void;

@Injectable()
class Handlers {
  @EventHandler('orders', { payload: Order })
  handle({ key, value }: EventRecord<Order, unknown>): void {
    handled.push(value);
    keys.push(key);
    handle(value);
  }
}

/** Returns a value in Confluent's wire format: a zero byte, the schema id, the encoded value. */
function confluent(schemaId: number, body: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.writeInt32BE(schemaId, 1);
  return Buffer.concat([header, body]);
}

describeWithRegistry('Avro with a schema registry', (kafka, registry) => {
  let driver: BrokerDriver;
  let admin: AdminSession;
  let application: INestApplicationContext | undefined;
  let topic: string;
  let groupId: string;
  const type = Type.forSchema(ORDER as never);

  beforeAll(() => {
    driver = kafkajs({ brokers: kafka.brokers });
    admin = driver.admin();
  });
  beforeEach(async () => {
    handled.length = 0;
    keys.length = 0;
    handle = () => undefined;
    topic = kafka.unique('orders');
    groupId = kafka.unique('shop');
    const topics = [topic, `${topic}.retry-1`, `${topic}.DLT`].map((name) => ({
      name,
      partitions: 1,
    }));
    await admin.createTopics(topics);
  });
  afterEach(async () => {
    await application?.close();
    application = undefined;
  });
  afterAll(() => driver.close());

  const start = async (
    retry: object = { tiers: [] },
    formats: object = {},
  ): Promise<INestApplicationContext> => {
    class App {}
    const bindings = {
      orders: {
        topic,
        groupId,
        sessionTimeoutMs: '3s',
        heartbeatIntervalMs: '300ms',
        pollTimeoutMs: '250ms',
        retry,
        schemaRegistry: { url: registry().url, timeoutMs: '2s' },
        ...formats,
      },
    } as const;
    return NestFactory.createApplicationContext(
      {
        module: App,
        imports: [EventBusModule.forRoot({ brokers: kafka.brokers, bindings })],
        providers: [Handlers],
      },
      { logger: ['error'], abortOnError: false },
    );
  };

  const write = (...values: readonly Buffer[]) =>
    driver.producer().send(values.map((value) => ({ topic, partition: 0, value })));
  const encoded = (schemaId: number, id: number): Buffer =>
    confluent(schemaId, type.toBuffer({ id, customer: 'Ann' }));
  const committed = async (): Promise<number> =>
    (await admin.groupOffsets(groupId))[0]?.offset ?? 0;

  it('decodes a record that another client wrote', async () => {
    const schemaId = await registry().register(`${topic}-value`, ORDER);
    application = await start();
    await write(encoded(schemaId, 7));
    await eventually(() => handled.length === 1);
    expect(handled).toEqual([{ id: 7, customer: 'Ann' }]);
    expect(handled[0]).toBeInstanceOf(Order);
    await eventually(async () => (await committed()) === 1);
  });

  it('decodes Avro keys, and dead-letters keys that are no Avro', async () => {
    const schemaId = await registry().register(`${topic}-key`, ORDER);
    application = await start(undefined, { deserializer: 'json', keyDeserializer: 'avro' });
    const value = JSON.stringify({ id: 1, customer: 'Ann' });
    const sent = [encoded(schemaId, 7), encoded(schemaId, 8), Buffer.from('text'), null];
    const records = sent.map((key) => ({ topic, partition: 0, key, value }));
    await driver.producer().send(records);
    await eventually(() => keys.length === 3);
    expect(keys).toEqual([{ id: 7, customer: 'Ann' }, { id: 8, customer: 'Ann' }, null]);
    for await (const letter of admin.readRange(`${topic}.DLT`, 0, 0, 1))
      expect(readDeadLetter(letter)).toMatchObject({
        key: Buffer.from('text'),
        deserialization: { part: 'key', format: 'Avro' },
      });
  });

  it('encodes a record with the latest schema of the topic, so that other clients can read it', async () => {
    const schemaId = await registry().register(`${topic}-value`, ORDER);
    application = await start();
    const event = { id: 8, customer: 'Ben' };
    await application.get(EventPublisher).publish('orders', event);
    await eventually(() => handled.length === 1);
    expect(handled).toEqual([event]);
    for await (const { value } of admin.readRange(topic, 0, 0, 1))
      expect(value).toEqual(confluent(schemaId, type.toBuffer(event)));
  });

  it('resolves schema references', async () => {
    const customer = {
      type: 'record',
      name: 'Customer',
      fields: [{ name: 'name', type: 'string' }],
    };
    const name = `com.shop.${topic.replaceAll(/\W/g, '_')}`;
    const subject = `${topic}-customer`;
    await registry().register(subject, { ...customer, name });
    const order = { ...ORDER, fields: [...ORDER.fields, { name: 'by', type: name }] };
    const reference = { name, subject, version: 1 };
    const schemaId = await registry().register(`${topic}-value`, order, [reference]);
    const own = Type.forSchema({
      ...order,
      fields: [...ORDER.fields, { name: 'by', type: { ...customer, name } }],
    } as never);
    application = await start();
    await write(confluent(schemaId, own.toBuffer({ id: 1, customer: 'Ann', by: { name: 'Ann' } })));
    await eventually(() => handled.length === 1);
    expect(handled[0]).toMatchObject({ id: 1, by: { name: 'Ann' } });
  });

  it('keeps the original bytes of a failed record in retry topics and dead letters', async () => {
    const schemaId = await registry().register(`${topic}-value`, ORDER);
    handle = (order) => {
      order.customer = 'somebody else';
      throw new Error('no');
    };
    application = await start({
      tier0: { maxAttempts: 1 },
      tiers: [{ delayMs: 100, maxAttempts: 1 }],
    });
    const bytes = encoded(schemaId, 7);
    await write(bytes);
    const valuesOf = async (name: string): Promise<(Buffer | null)[]> => {
      const values: (Buffer | null)[] = [];
      const [{ low, high } = { low: 0, high: 0 }] = await admin.watermarks(name);
      for await (const { value } of admin.readRange(name, 0, low, high)) values.push(value);
      return values;
    };
    await eventually(async () => (await valuesOf(`${topic}.DLT`)).length === 1, {
      timeoutMs: 60_000,
    });
    expect(await valuesOf(`${topic}.retry-1`)).toEqual([bytes]);
    expect(await valuesOf(`${topic}.DLT`)).toEqual([bytes]);
    expect(handled).toHaveLength(2);
    expect(handled.map(({ id }) => id)).toEqual([7, 7]);
  }, 180_000);

  it('dead-letters a record with an unknown schema, and continues with the next record', async () => {
    const schemaId = await registry().register(`${topic}-value`, ORDER);
    application = await start();
    const unknown = encoded(999_999, 1);
    await write(unknown, encoded(schemaId, 2));
    await eventually(() => handled.length === 1);
    expect(handled).toEqual([{ id: 2, customer: 'Ann' }]);
    const letters: (Buffer | null)[] = [];
    for await (const { value } of admin.readRange(`${topic}.DLT`, 0, 0, 1)) letters.push(value);
    expect(letters).toEqual([unknown]);
    await eventually(async () => (await committed()) === 2);
  });

  it('lets a record wait while the registry is unavailable, and handles it afterwards', async () => {
    const schemaId = await registry().register(`${topic}-value`, ORDER);
    await registry().kill();
    application = await start();
    const connector = application.get(EventBusConnector);
    await write(encoded(schemaId, 1), encoded(schemaId, 2));
    const isWaiting = (): boolean =>
      /waits \(backoff\): The schema registry at/.test(JSON.stringify(connector.health()));
    await eventually(isWaiting, { timeoutMs: 60_000 });
    expect(handled).toEqual([]);
    expect(await committed()).toBe(0);
    await registry().restart();
    await eventually(() => handled.length === 2, { timeoutMs: 60_000 });
    expect(handled.map(({ id }) => id)).toEqual([1, 2]);
    await eventually(async () => (await committed()) === 2);
    const [letters] = await admin.watermarks(`${topic}.DLT`);
    expect(letters?.high).toBe(0);
  }, 180_000);
});
