import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EventBusProperties } from '../properties/event-bus-properties.js';
import { KEY_REGISTER } from './key-register.js';
import { keyPaths } from '../properties/property-tree.js';

const source = join(__dirname, '../..');

describe('KEY_REGISTER', () => {
  it('contains every key of the options, and no other key', () => {
    const declared = keyPaths(EventBusProperties).filter((key) => !key.startsWith('defaults.'));
    expect(KEY_REGISTER.map(({ key }) => key).sort()).toEqual([...declared].sort());
  });

  it('names a test of the default for every key of a binding except the topic', () => {
    const keys = keyPaths(EventBusProperties);
    const below = (prefix: string) =>
      keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    expect([...below('defaults.'), 'topic'].sort()).toEqual(below('bindings.*.').sort());
  });

  it.each([...new Set(KEY_REGISTER.map((entry) => entry.default))])(
    'names %s as the test of defaults only for keys that this test mentions',
    (file) => {
      const text = readFileSync(join(source, file), 'utf8');
      const keys = KEY_REGISTER.filter((entry) => entry.default === file).map(({ key }) => key);
      const unmentioned = keys.filter((key) => !text.includes(key.split('.').at(-1) ?? key));
      expect(unmentioned).toEqual([]);
    },
  );

  // `npm run break-options` proves that the test fails without the option.
  it.each([...new Set(KEY_REGISTER.map(({ effect }) => effect))])(
    'names an existing test of an effect: %s',
    (file) => {
      expect(existsSync(join(source, file))).toBe(true);
    },
  );

  it('names a test of the effect for every key', () => {
    const untested = KEY_REGISTER.filter(({ effect }) => !effect.endsWith('.spec.ts'));
    expect(untested).toEqual([]);
  });
});
