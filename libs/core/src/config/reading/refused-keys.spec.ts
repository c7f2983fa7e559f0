import {
  complaintsOf,
  orders,
  resolvedOrders,
  violationsOf,
} from '../configuration.spec-support.js';
import { resolveOptions } from '../resolving/resolve-options.js';

describe('An unknown key', () => {
  it.each<[object, string]>([
    [
      { 'group-id': 'x' },
      "bindings.orders.group-id: there is no option 'group-id' here. Did you mean 'groupId'?",
    ],
    [
      { retry: { tier0: { maxAttempt: 3 } } },
      "bindings.orders.retry.tier0.maxAttempt: there is no option 'maxAttempt' here. Did you mean 'maxAttempts'?",
    ],
    [
      { retry: { tiers: [{ delay: 3 }] } },
      "bindings.orders.retry.tiers[0].delay: there is no option 'delay' here. Did you mean 'delayMs'?",
    ],
    [
      { rebalance: { serializer: 3 } },
      "bindings.orders.rebalance.serializer: there is no option 'serializer' here. Known are: drainTimeoutMs.",
    ],
    [
      { rebalance: { toString: 3, valueOf: 4 } },
      "bindings.orders.rebalance.toString: there is no option 'toString' here. Known are: drainTimeoutMs.|UNKNOWN_KEY bindings.orders.rebalance.valueOf: there is no option 'valueOf' here. Known are: drainTimeoutMs.",
    ],
  ])('%j is refused with the most similar name', (properties, message) => {
    expect(complaintsOf(() => resolvedOrders(properties)).join('|')).toBe(`UNKNOWN_KEY ${message}`);
  });

  it('is reported without its value, which may be a password', () => {
    const secret = { sasl: 'hunter2', ssl: { passphrase: 'hunter2' } };
    const violations = violationsOf(() => resolveOptions(orders({}, secret)));
    expect(violations.map(({ path }) => path)).toEqual(['sasl', 'ssl']);
    expect(JSON.stringify(violations)).not.toContain('hunter2');
  });
});

describe('A key that could change every object of the process', () => {
  const FORBIDDEN = ['__proto__', 'constructor', 'prototype'];
  const PLACES = [
    (json: string) => `{${json}}`,
    (json: string) => `{"bindings":{"orders":{${json}}}}`,
    (json: string) => `{"bindings":{"orders":{"retry":{"tier0":{${json}}}}}}`,
    (json: string) => `{"bindings":{"orders":{"retry":{"tiers":[{${json}}]}}}}`,
    (json: string) => `{"clusters":{"default":{"ssl":{${json}}}}}`,
    (json: string) => `{"clusters":{"default":{"sasl":{"mechanism":"plain","a":[{${json}}]}}}}`,
    (json: string) => `{"defaults":{"dlt":{${json}}}}`,
  ];

  it.each(FORBIDDEN.flatMap((key) => PLACES.map((place) => place(`"${key}":{"polluted":true}`))))(
    'is refused: %s',
    (json) => {
      const violations = violationsOf(() => resolveOptions(JSON.parse(json) as object));
      const forbidden = violations.filter(({ rule }) => rule === 'FORBIDDEN_KEY');
      const [key] = FORBIDDEN.filter((name) => json.includes(`"${name}"`));
      expect(forbidden).toEqual([
        expect.objectContaining({
          message: `'${key}' is not allowed as a key anywhere in the options: it could change every object of the process. Remove it.`,
        }),
      ]);
      expect(forbidden[0]?.path.endsWith(`.${key}`) || forbidden[0]?.path === key).toBe(true);
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    },
  );

  it.each(FORBIDDEN)('%s is refused as the name of a binding or cluster', (name) => {
    const json = `{"brokers":"a:1","bindings":{"${name}":{}},"clusters":{"${name}":{}}}`;
    const violations = complaintsOf(() => resolveOptions(JSON.parse(json) as object));
    const refusal = `'${name}' cannot be the name of a`;
    const remedy =
      "Use 1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-', not beginning with '.' or '-', and no name that every object has.";
    expect(violations).toContain(`NAME bindings.${name}: ${refusal} binding. ${remedy}`);
    expect(violations).toContain(`NAME clusters.${name}: ${refusal} cluster. ${remedy}`);
  });

  it('is also refused as the prototype of a literal', () => {
    const given = JSON.parse('{"topic":"t"}') as object;
    Object.setPrototypeOf(given, { groupId: 'inherited' });
    const run = () => resolveOptions({ brokers: 'a:1', bindings: { orders: given as never } });
    expect(complaintsOf(run)).toEqual([
      'OBJECT bindings.orders: must be a plain object; got an instance of Object.',
    ]);
  });
});
