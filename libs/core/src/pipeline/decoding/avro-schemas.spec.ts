import { resolvedOrders } from '../../config/configuration.spec-support.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import { avroUnderTest, recordOf } from './avro.spec-support.js';

const order = recordOf('Order', { id: 'long' });

describe('AvroSchemas.byId', () => {
  it('requests a schema from the registry once, however many callers there are', async () => {
    const { client, schemas } = await avroUnderTest();
    const id = client.register({ subject: 'orders-value', schema: order });
    const types = await Promise.all([1, 2, 3].map(async () => schemas.byId(id)));
    expect(new Set(types).size).toBe(1);
    expect(schemas.byId(id)).toBe(types[0]);
    expect(client.asked).toEqual(['1']);
  });

  it('evicts the least recently used schema beyond schemaRegistry.cacheSize', async () => {
    const schemaRegistry = { url: 'http://registry:8081', cacheSize: 2 };
    const { cacheSize } = resolvedOrders({ schemaRegistry }).schemaRegistry!;
    const { client, schemas } = await avroUnderTest(cacheSize);
    const ids = ['A', 'B', 'C'].map((name) =>
      client.register({ subject: name, schema: recordOf(name, {}) }),
    );
    await schemas.byId(ids[0]!);
    await schemas.byId(ids[1]!);
    await schemas.byId(ids[0]!);
    await schemas.byId(ids[2]!);
    expect(schemas.byId(ids[0]!)).not.toBeInstanceOf(Promise);
    expect(schemas.byId(ids[2]!)).not.toBeInstanceOf(Promise);
    await schemas.byId(ids[1]!);
    expect(client.asked).toEqual(['1', '2', '3', '2']);
  });

  it('requests the schema again after a failure', async () => {
    const { client, schemas } = await avroUnderTest();
    client.outage = new SchemaRegistryUnavailableException('down');
    const attempts = [schemas.byId(1), schemas.byId(1)];
    for (const attempt of attempts) await expect(attempt).rejects.toBe(client.outage);
    client.outage = undefined;
    client.register({ subject: 'orders-value', schema: order });
    await expect(schemas.byId(1)).resolves.toBeDefined();
    expect(client.asked).toEqual(['1', '1']);
  });

  it('resolves the references of referenced schemas', async () => {
    const { client, schemas } = await avroUnderTest();
    const reference = (subject: string) => ({ subject, version: 1 });
    client.register({ subject: 'money', schema: recordOf('Money', { cents: 'long' }) });
    client.register({
      subject: 'line',
      schema: recordOf('Line', { price: 'com.shop.Money' }),
      references: [reference('money')],
    });
    const id = client.register({
      subject: 'orders-value',
      schema: recordOf('Order', { total: 'com.shop.Money', line: 'Line' }),
      references: [reference('line'), reference('money')],
    });
    const type = await schemas.byId(id);
    const value = { total: { cents: 5 }, line: { price: { cents: 5 } } };
    expect(type.fromBuffer(type.toBuffer(value))).toMatchObject(value);
    expect(client.asked).toEqual(['3', 'line/1', 'money/1']);
  });

  it.each([
    [
      'a schema of another kind',
      { type: 'PROTOBUF', schema: 'message' },
      'is PROTOBUF and not Avro',
    ],
    ['an invalid schema', { schema: { type: 'recrod' } }, 'unknown type'],
    [
      'a schema with an unknown reference',
      { schema: recordOf('A', { b: 'B' }) },
      'undefined type name',
    ],
  ])('rejects with an error that is not retriable: %s', async (_, registered, message) => {
    const { client, schemas } = await avroUnderTest();
    const id = client.register({ subject: 'a', ...registered });
    await expect(schemas.byId(id)).rejects.toThrow(message);
  });
});

describe('AvroSchemas.latestOf', () => {
  it('requests the latest schema again after a minute', async () => {
    const { client, runtime, schemas } = await avroUnderTest();
    client.register({ subject: 'orders-value', schema: order });
    expect((await schemas.latestOf('orders-value')).id).toBe(1);
    client.register({ subject: 'orders-value', schema: recordOf('Order', { id: 'string' }) });
    await runtime.advance(59_999);
    expect((await schemas.latestOf('orders-value')).id).toBe(1);
    await runtime.advance(1);
    expect((await schemas.latestOf('orders-value')).id).toBe(2);
    expect(client.asked).toEqual(['orders-value/latest', 'orders-value/latest']);
  });
});
