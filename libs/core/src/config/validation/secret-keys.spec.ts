import { inspect } from 'node:util';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import { EventBusProperties } from '../properties/event-bus-properties.js';
import type { PropertiesClass, PropertyShape } from '../properties/property-decorators.js';
import { propertiesOf } from '../properties/property-tree.js';
import { resolveOptions } from '../resolving/resolve-options.js';

const SECRET = 's3cr3t';

/** Paths of the options that are marked as secret. */
function secretPaths(type: PropertiesClass): readonly string[] {
  return [...propertiesOf(type)].flatMap(([key, shape]) => {
    const own = shape.secret === true ? [key] : [];
    if (!shape.type) return own;
    const below = secretPaths(shape.type()).map((path) => `${key}${segmentOf(shape)}.${path}`);
    return [...own, ...below];
  });
}

const segmentOf = ({ kind }: PropertyShape): string =>
  ({ map: '.one', 'nested-list': '.0' })[kind as string] ?? '';

/** Returns options with this value at the path. */
function optionsWith(path: string, value: unknown): object {
  const nested = path
    .split('.')
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object;
  return { ...(path.startsWith('clusters.') ? {} : { brokers: 'a:1' }), ...nested };
}

/** Wrong values that hold a secret in every form. */
const WRONG: Readonly<Record<string, unknown>> = {
  'a text': `${SECRET}\nline:@?`,
  'a list': [SECRET],
  'an object': { [SECRET.toUpperCase()]: SECRET, passwort: SECRET, mechanism: 7 },
  'an object of objects': { authorization: { bearer: SECRET }, key: { pem: [SECRET] } },
  'a class': class {
    static readonly token = SECRET;
  },
};

const PATHS = secretPaths(EventBusProperties);

describe('The error of a wrong configuration', () => {
  it('is tested with every option that is marked as secret', () => {
    expect(PATHS).toEqual(
      expect.arrayContaining([
        'clusters.one.sasl',
        'clusters.one.ssl',
        'bindings.one.schemaRegistry.auth.password',
        'bindings.one.schemaRegistry.headers',
        'defaults.schemaRegistry.url',
      ]),
    );
  });

  describe.each(PATHS)('in %s', (path) => {
    it.each(Object.entries(WRONG))('quotes the key and not the value: %s', (_, value) => {
      let thrown: unknown;
      try {
        resolveOptions(optionsWith(path, value));
      } catch (error) {
        thrown = error;
      }
      // Some of these values are valid for some of the options.
      if (thrown !== undefined) expect(thrown).toBeInstanceOf(ConfigurationValidationException);
      const shown = `${inspect(thrown, { depth: 20 })} ${JSON.stringify(thrown)}`;
      expect(shown).not.toContain(SECRET);
    });
  });

  it.each([
    { clusters: [{ sasl: { password: SECRET } }] },
    { clusters: { eu: [SECRET] } },
    { brokers: 'a:1', defaults: [{ schemaRegistry: { auth: { password: SECRET } } }] },
    { brokers: 'a:1', bindings: { orders: [{ schemaRegistry: { headers: { a: SECRET } } }] } },
    { brokers: [{ host: 'a', password: SECRET }] },
    { brokers: `a:1,b:${SECRET}@c:1` },
    { brokers: 'a:1', loaders: [{ password: SECRET }] },
  ])('never prints a value that may contain secrets: %j', (options) => {
    let thrown: unknown;
    try {
      resolveOptions(options as never);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigurationValidationException);
    expect(`${inspect(thrown, { depth: 20 })} ${JSON.stringify(thrown)}`).not.toContain(SECRET);
  });
});
