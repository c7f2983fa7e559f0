import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { resolvedOrders } from '../../config/configuration.spec-support.js';
import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import { deliveryOf, recordingLogger } from '../pipeline.spec-support.js';
import { loadAvro } from './avro-package.js';
import { PayloadFormats } from './payload-formats.js';

class Order {
  id = 1;
}

const url = 'http://registry:8081';
const formats = (load = loadAvro) =>
  new PayloadFormats(new VirtualRuntime(), recordingLogger(), load);
const formatOf = (properties: Partial<TopicBindingProperties>) =>
  formats().of(resolvedOrders(properties));

describe('The format of a binding', () => {
  it.each<[Partial<TopicBindingProperties>, unknown]>([
    [{}, { id: 1 }],
    [{ deserializer: 'json' }, { id: 1 }],
    [{ deserializer: 'text' }, 'tüv'],
    [{ deserializer: 'typed-json', typedJson: { types: { Order } } }, new Order()],
  ])('deserializes what it has serialized: %j', async (properties, event) => {
    const { serializer, deserializer } = formatOf(properties);
    const { value, headers } = await serializer.serialize(event, { topic: 'orders' });
    const { record } = deliveryOf({ value: Buffer.from(value), headers });
    const read = deserializer.deserialize(record.value!, record);
    expect(read).toStrictEqual(event);
  });

  it.each<[Partial<TopicBindingProperties>, string]>([
    [{ deserializer: 'raw' }, 'its values are raw bytes'],
    [{ deserializer: { name: 'CBOR', deserialize: () => 1 } }, 'its values are CBOR'],
  ])('refuses to write a read-only format, and says what to do: %j', (properties, message) => {
    const { serializer } = formatOf(properties);
    expect(() => serializer.serialize({}, { topic: 'orders' })).toThrow(message);
    expect(() => serializer.serialize({}, { topic: 'orders' })).toThrow(
      'give the binding a serializer',
    );
  });

  it("refuses a value that is not a text with the format 'text'", () => {
    const { serializer } = formatOf({ deserializer: 'text' });
    expect(() => serializer.serialize({}, { topic: 'orders' })).toThrow('object is none');
  });

  it('is created once per binding, so that its cache is shared', () => {
    const binding = resolvedOrders();
    const all = formats();
    expect(all.of(binding)).toBe(all.of(binding));
    expect(all.of(resolvedOrders())).not.toBe(all.of(binding));
  });
});

describe('The package avsc', () => {
  const missing = () =>
    Promise.reject(
      Object.assign(new Error("Cannot find module 'avsc'"), { code: 'MODULE_NOT_FOUND' }),
    );

  it('is not loaded if no binding uses Avro', async () => {
    const load = jest.fn(missing);
    await formats(load).prepare([resolvedOrders(), resolvedOrders({ deserializer: 'raw' })]);
    expect(load).not.toHaveBeenCalled();
  });

  it('is loaded once', async () => {
    const load = jest.fn(loadAvro);
    const all = formats(load);
    const binding = resolvedOrders({ schemaRegistry: { url } });
    await all.prepare([binding, binding]);
    await all.prepare([binding]);
    expect(load).toHaveBeenCalledTimes(1);
    expect(all.of(binding).deserializer.name).toBe('Avro');
  });

  it('is loaded for Avro in keys as well, and keys and values share their schemas', async () => {
    const registry = { schemaRegistry: { url } };
    const keyed = resolvedOrders({ deserializer: 'json', keyDeserializer: 'avro', ...registry });
    const all = formats();
    await all.prepare([keyed]);
    expect(all.of(keyed)).toMatchObject({
      deserializer: { name: 'JSON' },
      keyDeserializer: { name: 'Avro' },
    });
    await expect(formats(missing).prepare([keyed])).rejects.toMatchObject({
      violations: [{ path: 'bindings.orders.keyDeserializer' }],
    });
  });

  it('makes the start fail if it is not installed, and the error says what to install', async () => {
    const binding = resolvedOrders({ schemaRegistry: { url } });
    const attempt = formats(missing).prepare([resolvedOrders(), binding]);
    await expect(attempt).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      violations: [
        {
          rule: 'PACKAGE_MISSING',
          path: 'bindings.orders.deserializer',
          message:
            'Avro is read by the package avsc, which cannot be loaded (Error MODULE_NOT_FOUND). Run: npm i avsc',
        },
      ],
    });
  });
});
