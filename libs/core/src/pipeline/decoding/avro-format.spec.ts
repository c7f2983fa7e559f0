import { inspect } from 'node:util';
import { IsInt } from 'class-validator';
import { z } from 'zod';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import type { EventRecord } from '../../model/records/event-record.js';
import { deliveryOf, errorOf, handler, processorOf } from '../pipeline.spec-support.js';
import { AvroDeserializer, AvroSerializer } from './avro-format.js';
import { avroUnderTest, recordOf } from './avro.spec-support.js';

const TOPIC = { topic: 'orders' };

async function formatUnderTest(schema: unknown) {
  const avro = await avroUnderTest();
  avro.client.register({ subject: 'orders-value', schema });
  const serializer = new AvroSerializer(avro.schemas);
  const deserializer = new AvroDeserializer(avro.schemas);
  const write = async (event: unknown): Promise<Buffer> =>
    (await serializer.serialize(event, TOPIC)).value as Buffer;
  return { ...avro, serializer, deserializer, write };
}

const roundTrip = async (type: unknown, value: unknown): Promise<unknown> => {
  const { write, deserializer } = await formatUnderTest(recordOf('R', { value: type }));
  const read = (await deserializer.deserialize(await write({ value }))) as { value: unknown };
  return read.value;
};

describe('The Avro format', () => {
  it('writes five bytes that name the schema, and the encoded value', async () => {
    const { write, deserializer } = await formatUnderTest(
      recordOf('Order', { id: 'int', item: 'string' }),
    );
    const bytes = await write({ id: 3, item: 'pen' });
    expect(bytes.toString('hex')).toBe('0000000001' + '06' + '06' + '70656e');
    expect(await deserializer.deserialize(bytes)).toStrictEqual({ id: 3, item: 'pen' });
  });

  it('decodes without a promise if the schema is known', async () => {
    const { write, deserializer } = await formatUnderTest('string');
    const bytes = await write('tüv');
    expect(deserializer.deserialize(bytes)).toBeInstanceOf(Promise);
    await deserializer.deserialize(bytes);
    expect(deserializer.deserialize(bytes)).toBe('tüv');
  });

  it.each([
    ['a small long', 'long', 5],
    ['the largest exact long', 'long', Number.MAX_SAFE_INTEGER],
    ['a longer long', 'long', 9_007_199_254_740_993n],
    ['the longest long', 'long', 2n ** 63n - 1n],
    ['the least long', 'long', -(2n ** 63n)],
    ['a long or null', ['null', 'long'], 9_007_199_254_740_993n],
    ['nothing', ['null', 'long'], null],
    ['a long or a text', ['string', 'long'], 7],
    ['two kinds of numbers', ['int', 'long'], { long: 7 }],
    ['a time', { type: 'long', logicalType: 'timestamp-millis' }, 1_700_000_000_000],
    ['a list', { type: 'array', items: 'long' }, [1, 2]],
    ['a map', { type: 'map', values: 'int' }, { a: 1 }],
    ['an enum', { type: 'enum', name: 'E', symbols: ['A', 'B'] }, 'B'],
    ['bytes', 'bytes', Buffer.from([1, 2])],
    ['a record', recordOf('Inner', { a: 'int' }), { a: 1 }],
  ])('reads and writes %s', async (_, type, value) => {
    expect(await roundTrip(type, value)).toStrictEqual(value);
  });

  it('decodes plain objects at every level, whatever the map keys are', async () => {
    const evil = Object.fromEntries([['__proto__', { x: 1 }]]);
    const read = (await roundTrip(
      { type: 'map', values: recordOf('Inner', { x: 'int' }) },
      evil,
    )) as Record<string, unknown>;
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(read['x']).toBeUndefined();
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it('decodes bytes into a copy, so that the record does not change', async () => {
    const { write, deserializer } = await formatUnderTest('bytes');
    const bytes = await write(Buffer.from('abc'));
    const before = Buffer.from(bytes);
    ((await deserializer.deserialize(bytes)) as Buffer).fill(0);
    expect(bytes).toEqual(before);
  });
});

describe('A record with an Avro value', () => {
  const order = recordOf('Order', { id: 'int' });
  const handled: unknown[] = [];
  beforeEach(() => void handled.splice(0));
  const keep = (payload?: unknown) =>
    handler(({ value }: EventRecord) => void handled.push(value), {
      payload: payload as never,
    });
  const process = async (value: Buffer, payload?: unknown, schema: unknown = order) => {
    const { client, deserializer, write } = await formatUnderTest(schema);
    return {
      client,
      write,
      outcome: await processorOf([keep(payload)], { deserializer }).process(deliveryOf({ value })),
    };
  };
  const avro = (...body: number[]): Buffer => Buffer.from([0, 0, 0, 0, 1, ...body]);

  class OrderDto {
    @IsInt()
    id!: number;
  }
  class TextDto {
    @IsInt()
    text!: number;
  }

  it('is validated by a class or a schema, and handled', async () => {
    await process(avro(6));
    await process(avro(6), OrderDto);
    await process(avro(6), z.strictObject({ id: z.number() }));
    expect(handled).toEqual([{ id: 3 }, { id: 3 }, { id: 3 }]);
    expect(handled[1]).toBeInstanceOf(OrderDto);
  });

  it('is refused if its payload class does not accept it', async () => {
    const { outcome } = await process(avro(6), TextDto);
    expect(errorOf(outcome)).toMatchObject({ code: 'PAYLOAD_VALIDATION', retriable: false });
  });

  it.each([
    ['nothing', Buffer.alloc(0), 'does not begin with a zero byte'],
    ['JSON', Buffer.from('{"id":1}'), 'does not begin with a zero byte'],
    ['half a header', Buffer.from([0, 0, 0, 0]), 'does not begin with a zero byte'],
    ['an unknown schema', Buffer.from([0, 0, 0, 0, 9, 6]), 'knows no such schema'],
    ['a schema with a negative id', Buffer.from([0, 255, 255, 255, 255]), 'is below zero'],
    ['a truncated value', avro(), 'is not the Avro'],
    ['bytes after the value', avro(6, 6), 'is not the Avro'],
  ])('fails as a bad message: %s', async (_, value, message) => {
    const { outcome } = await process(value);
    const error = errorOf(outcome);
    expect(error).toMatchObject({ code: 'DESERIALIZATION', retriable: false });
    expect(error.message).toContain(message);
    expect(handled).toEqual([]);
  });

  it('is redelivered while the registry does not answer, and no failure is counted', async () => {
    const { client, deserializer } = await formatUnderTest(order);
    const processor = processorOf([keep()], { deserializer });
    client.outage = new SchemaRegistryUnavailableException('down');
    expect(await processor.process(deliveryOf({ value: avro(6) }))).toEqual({
      kind: 'failed',
      error: client.outage,
      attempts: 0,
      reason: 'redeliver',
    });
    client.outage = undefined;
    expect(await processor.process(deliveryOf({ value: avro(6) }))).toEqual({ kind: 'succeeded' });
    expect(handled).toEqual([{ id: 3 }]);
  });
});

describe('An event that does not fit the latest Avro schema', () => {
  it('is refused with the names of its fields, but without their values', async () => {
    const { serializer } = await formatUnderTest(
      recordOf('Order', { id: 'int', customer: recordOf('Customer', { name: 'string' }) }),
    );
    const attempt = Promise.resolve(
      serializer.serialize({ id: 'secret', customer: { name: 5 } }, TOPIC),
    );
    const error = await attempt.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: 'it does not fit schema 1 in: id, customer.name.' });
    expect(inspect(error)).not.toContain('secret');
  });
});
