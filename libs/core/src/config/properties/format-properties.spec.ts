import { inspect } from 'node:util';
import {
  complaintsOf,
  orders,
  resolvedOrders,
  violationsOf,
} from '../configuration.spec-support.js';
import { EVENTBUS_DEFAULTS } from '../defaults.js';
import { resolveOptions } from '../resolving/resolve-options.js';

class OrderPlaced {}
class OrderPaid {}

const url = 'http://registry:8080/apis/ccompat/v7';
const complaints = (properties: object, options: object = {}) =>
  complaintsOf(() => resolveOptions(orders(properties, options)));

describe('The format of a binding', () => {
  it('defaults to plain JSON of any type and version', () => {
    const { deserializer, keyDeserializer, typedJson, schemaVersion, ...rest } = resolvedOrders();
    const { schemaRegistry } = rest;
    expect({ deserializer, keyDeserializer, typedJson, schemaVersion }).toEqual({
      deserializer: 'json',
      keyDeserializer: 'auto',
      typedJson: { types: {}, trustedPackages: ['*'] },
      schemaVersion: { from: 'schema-version', supported: [] },
    });
    expect(schemaRegistry).toBeUndefined();
    expect(rest.serializer).toBeUndefined();
    expect(EVENTBUS_DEFAULTS.binding.schemaRegistry).toEqual({
      timeoutMs: 5_000,
      cacheSize: 1_000,
    });
  });

  it('defaults to Avro if there is a schema registry', () => {
    expect(resolvedOrders({ schemaRegistry: { url } })).toMatchObject({
      deserializer: 'avro',
      schemaRegistry: { url, timeoutMs: 5_000, cacheSize: 1_000 },
    });
    const { deserializer } = resolvedOrders({}, { defaults: { schemaRegistry: { url } } });
    expect(deserializer).toBe('avro');
  });

  it('needs a schema registry for Avro in keys', () => {
    expect(complaints({ keyDeserializer: 'avro' })).toEqual([
      expect.stringContaining('REQUIRED bindings.orders.schemaRegistry.url: is missing'),
    ]);
    expect(
      resolvedOrders({ keyDeserializer: 'avro', deserializer: 'json', schemaRegistry: { url } }),
    ).toMatchObject({ deserializer: 'json', keyDeserializer: 'avro' });
  });

  it('can be set explicitly on any layer', () => {
    const registry = { schemaRegistry: { url } };
    const typedJson = { types: { 'com.shop.Order': class {} } };
    expect(resolvedOrders({ typedJson }).deserializer).toBe('typed-json');
    expect(resolvedOrders({}, { defaults: { typedJson } }).deserializer).toBe('typed-json');
    expect(resolvedOrders({ typedJson, ...registry }).deserializer).toBe('avro');
    expect(resolvedOrders({ typedJson, deserializer: 'json' }).deserializer).toBe('json');
    expect(resolvedOrders({ ...registry, deserializer: 'text' }).deserializer).toBe('text');
    expect(resolvedOrders(registry, { defaults: { deserializer: 'raw' } }).deserializer).toBe(
      'raw',
    );
  });

  it.each([
    [
      { deserializer: 'jsn' },
      "REFERENCE bindings.orders.deserializer: must be one of 'json', 'typed-json', 'text', 'raw', 'avro', or an object with the method deserialize; got 'jsn'. Did you mean 'json'?",
    ],
    [
      { deserializer: {} },
      "REFERENCE bindings.orders.deserializer: must be one of 'json', 'typed-json', 'text', 'raw', 'avro', or an object with the method deserialize; got an object.",
    ],
    [
      { keyDeserializer: 'txt' },
      "REFERENCE bindings.orders.keyDeserializer: must be one of 'auto', 'text', 'raw', 'json', 'avro', or an object with the method deserialize; got 'txt'. Did you mean 'text'?",
    ],
    [
      { serializer: 'json' },
      "REFERENCE bindings.orders.serializer: must be an object with the method serialize; got 'json'.",
    ],
    [
      { typedJson: { types: { A: 'OrderPlaced' } } },
      "REFERENCE bindings.orders.typedJson.types: must be a plain object of classes by their ids, such as { 'com.shop.OrderPlaced': OrderPlaced }; got an object.",
    ],
    [
      { typedJson: { types: { A: () => new OrderPlaced() } } },
      "REFERENCE bindings.orders.typedJson.types: must be a plain object of classes by their ids, such as { 'com.shop.OrderPlaced': OrderPlaced }; got an object.",
    ],
    [
      { typedJson: { trustedPackages: 'com.shop.*' } },
      "LIST bindings.orders.typedJson.trustedPackages: must be a list of packages, such as ['com.shop.*']; got 'com.shop.*'.",
    ],
    [
      { typedJson: { trustedPackages: ['com.*.shop'] } },
      "LIST bindings.orders.typedJson.trustedPackages: must be a list of packages, such as ['com.shop.*']; got a list.",
    ],
    [
      { schemaVersion: { supported: [1] } },
      "LIST bindings.orders.schemaVersion.supported: must be a list of versions, such as ['1', '2']; got a list.",
    ],
    [
      { schemaVersion: { from: '$' } },
      "TEXT bindings.orders.schemaVersion.from: must be the name of a header, or '$.' and the path of a field in the value; got '$'.",
    ],
    [
      { schemaRegistry: { url: 'registry:8081' } },
      "TEXT bindings.orders.schemaRegistry.url: must be the address of a schema registry: http:// or https://, its credentials in auth; got 'registry:8081'.",
    ],
    [
      { schemaRegistry: { url, timeoutMs: 0 } },
      'DURATION bindings.orders.schemaRegistry.timeoutMs: must be a duration of at least 1 ms; got 0.',
    ],
    [
      { schemaRegistry: { url, cacheSize: 0 } },
      'NUMBER bindings.orders.schemaRegistry.cacheSize: must be a whole number from 1 to 1000000; got 0.',
    ],
    [
      { deserializer: 'avro' },
      "REQUIRED bindings.orders.schemaRegistry.url: is missing: Avro is read by the schemas of a registry. Add schemaRegistry: { url: 'http://registry:8081' }, or choose another deserializer.",
    ],
    [
      { deserializer: 'typed-json' },
      "REQUIRED bindings.orders.typedJson.types: is empty: every value that names its type would be refused. Register the classes, types: { 'com.shop.OrderPlaced': OrderPlaced }, or use deserializer: 'json'.",
    ],
    [
      { schemaRegistry: { url, auth: { username: 'me' } } },
      'REQUIRED bindings.orders.schemaRegistry.auth.password: is missing: a registry wants both, a username and a password. For a token use schemaRegistry.headers.',
    ],
  ])('is refused: %j', (properties, message) => {
    expect(complaints(properties)).toEqual([message]);
  });
});

describe('A deserializer or serializer object', () => {
  const deserializer = { name: 'mine', cache: { size: 0 }, deserialize: () => 1 };
  const serializer = { name: 'mine', serialize: () => ({ value: '' }) };

  it.each([
    ['the binding', { deserializer, serializer }, {}],
    ['the defaults', {}, { defaults: { deserializer, serializer } }],
  ])('is passed by reference from %s and not frozen', (_, properties, options) => {
    const binding = resolvedOrders(properties, options);
    expect(binding.deserializer).toBe(deserializer);
    expect(binding.serializer).toBe(serializer);
    expect(Object.isFrozen(deserializer)).toBe(false);
    expect(Object.isFrozen(deserializer.cache)).toBe(false);
  });

  it('is never merged with another: the object of the highest layer is used', () => {
    const types = { 'com.shop.OrderPlaced': OrderPlaced };
    const defaults = { typedJson: { types: { 'com.shop.OrderPaid': OrderPaid } } };
    const binding = resolvedOrders({ typedJson: { types } }, { defaults });
    expect(binding.typedJson.types).toBe(types);
    expect(resolvedOrders({ typedJson: { types: {} } }, { defaults }).typedJson.types).toEqual({});
  });
});

describe('The credentials of a schema registry', () => {
  const auth = { username: 'me', password: 'pa$$:word' };
  const headers = { 'x-token': 'sesame' };

  it('become request headers, and explicit headers win', () => {
    const { schemaRegistry } = resolvedOrders({
      schemaRegistry: { url: `${url}/`, auth, headers },
    });
    expect(schemaRegistry?.url).toBe(url);
    expect(schemaRegistry?.requestHeaders()).toEqual({
      authorization: `Basic ${Buffer.from('me:pa$$:word').toString('base64')}`,
      'x-token': 'sesame',
    });
    const bearer = { authorization: 'Bearer x' };
    const own = resolvedOrders({ schemaRegistry: { url, auth, headers: bearer } }).schemaRegistry;
    expect(own?.requestHeaders()).toEqual(bearer);
  });

  it('do not appear when the binding is printed', () => {
    const binding = resolvedOrders({ schemaRegistry: { url, auth, headers } });
    const printed = `${JSON.stringify(binding)} ${inspect(binding, { depth: 9, showHidden: true })}`;
    expect(printed).toContain(url);
    expect(printed).not.toMatch(/pa\$\$|sesame/);
  });

  it.each([
    ['in the url', { url: 'http://me:pa$$@registry' }],
    ['where an object belongs', { url, auth: 'me:pa$$' }],
    ['in place of the whole option', 'http://me:pa$$@registry'],
    ['in the user name', { url, auth: { username: 'me:pa$$', password: 'x' } }],
    ['in invalid headers', { url, headers: { a: ['pa$$'] } }],
  ])('do not appear in violations if they are %s', (_, schemaRegistry) => {
    const violations = violationsOf(() => resolveOptions(orders({ schemaRegistry })));
    expect(violations).not.toEqual([]);
    expect(inspect(violations, { depth: 9 })).not.toContain('pa$$');
  });
});
