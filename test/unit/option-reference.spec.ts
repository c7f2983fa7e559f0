import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENTBUS_DEFAULTS } from '@nest-event-bus/core';
import { KEY_REGISTER } from '../../libs/core/src/config/validation/key-register.js';

const readme = readFileSync(join(__dirname, '../../libs/core/README.md'), 'utf8');
const section = readme.slice(readme.indexOf('## Reference'), readme.indexOf('## Limits'));
const rows = [...section.matchAll(/^\| (`[^|]+`)( †)? +\| ([^|]+?) +\|/gm)].map(
  ([, keys = '', pending, value = '']) => ({
    keys: [...keys.matchAll(/`([^`]+)`/g)].map(([, key = '']) => key),
    isPending: pending !== undefined,
    value,
  }),
);

/** What the tree of defaults says of a key; undefined where a default is not one value. */
function defaultOf(key: string): unknown {
  const path = key.split('.');
  return path.reduce<unknown>(
    (node, name) => (node as Record<string, unknown> | undefined)?.[name],
    EVENTBUS_DEFAULTS.binding,
  );
}

const registered = KEY_REGISTER.filter(({ key }) => key.startsWith('bindings.*.')).map((entry) => ({
  ...entry,
  // A list is one row, whatever its items hold.
  key: entry.key.slice('bindings.*.'.length).replace(/\[\].*/, ''),
}));

describe('the reference of the options', () => {
  it('has every key of a binding, and no other', () => {
    const known = new Set(registered.map(({ key }) => key));
    const withoutDefault = ['dlt.topic'];
    expect(new Set([...rows.flatMap(({ keys }) => keys), ...withoutDefault])).toEqual(known);
  });

  it.each(rows.flatMap(({ keys, isPending }) => keys.map((key) => [key, isPending] as const)))(
    'says truly whether %s has an effect (pending: %s)',
    (key, isPending) => {
      const effects = registered.filter((entry) => entry.key === key).map(({ effect }) => effect);
      expect(effects.every((effect) => effect === 'pending')).toBe(isPending);
    },
  );

  it.each(
    rows
      .filter(({ value }) => /^`.*`$/.test(value))
      .flatMap(({ keys, value }) => keys.map((key) => [key, value.slice(1, -1)] as const)),
  )('%s is %s by default', (key, value) => {
    const literal = JSON.parse(value.replaceAll("'", '"')) as unknown;
    const actual = defaultOf(key);
    const bySingle = (actual as { SINGLE?: unknown }).SINGLE;
    expect(literal).toEqual(bySingle ?? actual);
  });
});
