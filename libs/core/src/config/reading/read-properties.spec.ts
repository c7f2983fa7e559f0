import {
  complaintsOf,
  orders,
  resolvedOrders,
  violationsOf,
} from '../configuration.spec-support.js';
import { resolveOptions } from '../resolving/resolve-options.js';

class Foreign {
  enabled = true;
}

/** One of each type of value that an option can meet, with the words for it. */
const VALUES: readonly (readonly [unknown, string])[] = [
  [null, 'null'],
  ['nonsense!', "'nonsense!'"],
  ['', "''"],
  [true, 'true'],
  [-7, '-7'],
  [1.5, '1.5'],
  [Number.NaN, 'NaN'],
  [9n, '9n'],
  [Symbol('s'), 'a symbol'],
  [() => 1, 'a function'],
  [Foreign, 'the class Foreign'],
  [new Foreign(), 'an instance of Foreign'],
  [new Map(), 'an instance of Map'],
  [new Date(0), 'an instance of Date'],
  [Buffer.from('x'), 'an instance of Buffer'],
  [[], 'an empty list'],
  [[1], 'a list'],
  [{ a: 1 }, 'an object'],
];

const DURATION =
  "A duration is a number of milliseconds, or a text like '250ms', '10s', '5m', '1h' or '7d'.";
const NO_DURATION =
  "is no duration. Write a number of milliseconds, or a text like '250ms', '10s', '5m', '1h' or '7d'.";
const MATCHER =
  'an error class, the name of one, { name }, { code }, { status } or { matches: (error) => boolean }';

interface Kind {
  readonly key: string;
  readonly rule: string;
  /** What it asks for, or the whole message for a value. */
  readonly message: (shown: string, value: unknown) => string;
  /** Values of the list above that are right here. */
  readonly takes?: (value: unknown) => boolean;
}

const mustBe = (expectation: string) => (shown: string) => `must be ${expectation}; got ${shown}.`;
const isObject = (value: unknown) => typeof value === 'object' && value !== null;
const isPlain = (value: unknown) => Object.prototype.toString.call(value) === '[object Object]';

const KINDS: readonly Kind[] = [
  {
    key: 'groupId',
    rule: 'TEXT',
    message: mustBe('a text that is neither empty nor surrounded by white space'),
    takes: (value) => value === 'nonsense!',
  },
  {
    key: 'topic',
    rule: 'TOPIC_NAME',
    message: mustBe(
      "a topic name: up to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and not '.' or '..'",
    ),
  },
  {
    key: 'typeFrom',
    rule: 'TEXT',
    message: mustBe("the name of a header, or '$.' and the path of a field in the value"),
    takes: (value) => value === 'nonsense!',
  },
  {
    key: 'listenerType',
    rule: 'CHOICE',
    message: mustBe("one of 'SINGLE', 'BATCH'"),
  },
  {
    key: 'groupProtocol',
    rule: 'CHOICE',
    message: mustBe("one of 'classic', 'consumer'"),
  },
  {
    key: 'ackMode',
    rule: 'ACK_MODE',
    message: (shown) =>
      `must be one of 'MANUAL', 'MANUAL_IMMEDIATE'; got ${shown}. The bus commits by itself; a BATCH listener, too, takes only these.`,
  },
  { key: 'concurrency', rule: 'NUMBER', message: mustBe('a whole number from 1 to 1000') },
  { key: 'maxPollRecords', rule: 'NUMBER', message: mustBe('a whole number of at least 1') },
  { key: 'autoStartup', rule: 'FLAG', message: mustBe('true or false'), takes: (v) => v === true },
  {
    key: 'maxPollIntervalMs',
    rule: 'DURATION',
    message: (shown, value) => {
      const got = `must be a duration of at least 1 ms; got ${shown}.`;
      if (typeof value === 'string') return `${got} '${value}' ${NO_DURATION}`;
      if (typeof value !== 'number') return `${got} ${DURATION}`;
      return value === -7
        ? `${got} -7 is negative. A duration is 0 or more.`
        : `${got} ${shown} is not a whole number of milliseconds.`;
    },
  },
  {
    key: 'assignmentStrategy',
    rule: 'CHOICE',
    message: (shown, value) => {
      const list = Array.isArray(value) ? `[${value.join(', ')}]` : shown;
      return `must be one or a list of 'cooperative-sticky', 'sticky', 'range', each at most once; got ${list}.`;
    },
  },
  { key: 'retry', rule: 'OBJECT', message: mustBe('a plain object'), takes: isPlainObjectOnly },
  {
    key: 'circuitBreaker.failureRateThreshold',
    rule: 'NUMBER',
    message: mustBe('a number of per cent above 0, up to 100'),
    takes: (value) => value === 1.5,
  },
  {
    key: 'retry.tier0.multiplier',
    rule: 'NUMBER',
    message: mustBe('a number from 1 to 1000'),
    takes: (value) => value === 1.5,
  },
  {
    key: 'retry.tiers',
    rule: 'LIST',
    message: (shown, value) =>
      Array.isArray(value)
        ? 'must be a list of plain objects; item 0 is 1.'
        : `must be a list of plain objects; got ${shown}.`,
    takes: (value) => Array.isArray(value) && value.length === 0,
  },
  {
    key: 'retry.retryableExceptions',
    rule: 'ERROR_MATCHER',
    message: (shown, value) =>
      Array.isArray(value)
        ? `must be a list in which each item is ${MATCHER}; item 0 is 1.`
        : `must be a list; got ${shown}.`,
    takes: (value) => Array.isArray(value) && value.length === 0,
  },
  {
    key: 'naming',
    rule: 'REFERENCE',
    message: mustBe(
      'an object with the methods retryTopic(topic, tier) and deadLetterTopic(topic)',
    ),
  },
  {
    key: 'classifier',
    rule: 'REFERENCE',
    message: mustBe('an object with a method classify(error, currentTier)'),
  },
  { key: 'serializer', rule: 'REFERENCE', message: mustBe('an object with the method serialize') },
  {
    key: 'idempotency.store',
    rule: 'REFERENCE',
    message: mustBe(
      "'none' or an object with the methods claim, complete and release, such as memoryIdempotencyStore()",
    ),
  },
  {
    key: 'typedJson.types',
    rule: 'REFERENCE',
    message: mustBe(
      "a plain object of classes by their ids, such as { 'com.shop.OrderPlaced': OrderPlaced }",
    ),
  },
  {
    key: 'dlt.topicSuffix',
    rule: 'TOPIC_NAME',
    message: mustBe(
      "a topic suffix: characters a-z, A-Z, 0-9, '.', '_' and '-', with {n} for the number of the tier",
    ),
  },
  {
    key: 'dlt.headerProfile',
    rule: 'CHOICE',
    message: (shown, value) => {
      const list = Array.isArray(value) ? `[${value.join(', ')}]` : shown;
      return `must be a list of 'eventbus', 'spring', 'plain', each at most once; got ${list}.`;
    },
  },
];

const ERROR_TYPES = 'must be a plain object of error classes, such as { PaymentDeclined }';

/** Of the application itself, not of a binding. */
const ROOT_KINDS: readonly (Kind & { readonly secret?: boolean })[] = [
  {
    key: 'enabled',
    rule: 'CHOICE',
    message: mustBe("one of true, false, 'if-configured'"),
    takes: (value) => value === true,
  },
  {
    key: 'metrics.enabled',
    rule: 'FLAG',
    message: mustBe('true or false'),
    takes: (v) => v === true,
  },
  {
    key: 'clusters.default.ssl',
    rule: 'REFERENCE',
    secret: true,
    // What is in it is for node:tls to judge.
    message: (shown, value) =>
      mustBe('true, false or the options of node:tls')(
        typeof value === 'string' ? 'a text' : shown,
      ),
    takes: (value) => value === true || (isObject(value) && !Array.isArray(value)),
  },
  {
    key: 'loaders',
    rule: 'REFERENCE',
    message: mustBe('a list of what loaders gave, such as [fromEnvironment(process.env)]'),
    takes: (value) => Array.isArray(value) && value.length === 0,
  },
  {
    key: 'errorTypes',
    rule: 'ERROR_TYPES',
    message: (shown, value) =>
      `${ERROR_TYPES}; ${isPlain(value) && !(value instanceof Foreign) ? "'a' is 1" : `got ${shown}`}.`,
  },
  {
    key: 'runtime',
    rule: 'REFERENCE',
    message: mustBe('a runtime, such as realRuntime of @nest-event-bus/broker/runtime'),
  },
];

/** `{ a: 1 }` is an object all right; what is wrong is the key in it, and another case. */
function isPlainObjectOnly(value: unknown): boolean {
  return isPlain(value) && !(value instanceof Foreign);
}

const nest = (key: string, value: unknown): object =>
  key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as object;

describe('A value of the wrong type', () => {
  const cases = KINDS.flatMap((kind) =>
    VALUES.filter(([value]) => !kind.takes?.(value)).map(
      ([value, shown]) => [kind.key, shown, value, kind] as const,
    ),
  );

  it.each(cases)('%s cannot be %s', (key, shown, value, { rule, message }) => {
    const path = `bindings.orders.${key}`;
    expect(violationsOf(() => resolvedOrders(nest(key, value)))).toEqual([
      { rule, binding: 'orders', path, value, message: message(shown, value) },
    ]);
  });

  const ofTheRoot = ROOT_KINDS.flatMap((kind) =>
    VALUES.filter(([value]) => !kind.takes?.(value)).map(
      ([value, shown]) => [kind.key, shown, value, kind] as const,
    ),
  );

  it.each(ofTheRoot)('%s of the root cannot be %s', (path, shown, given, kind) => {
    const { rule, message, secret } = kind;
    const value = secret ? undefined : given;
    expect(violationsOf(() => resolveOptions(orders({}, nest(path, given))))).toEqual([
      { rule, binding: undefined, path, value, message: message(shown, given) },
    ]);
  });

  it('undefined is a value that was not given', () => {
    const nothing = { concurrency: undefined, retry: undefined, dlt: { topic: undefined } };
    expect(resolvedOrders(nothing)).toEqual(resolvedOrders());
  });

  it.each(['enable.auto.commit', 'enableAutoCommit', 'autoCommit', 'autoCommitInterval'])(
    'nothing lets the client commit by itself: %s is refused by its name',
    (key) => {
      expect(violationsOf(() => resolvedOrders({ [key]: false }))).toMatchObject([
        { rule: 'UNKNOWN_KEY', path: `bindings.orders.${key}` },
      ]);
    },
  );

  it.each<[object, string]>([
    [
      { listenerType: 'single' },
      "CHOICE bindings.orders.listenerType: must be one of 'SINGLE', 'BATCH'; got 'single'. Did you mean 'SINGLE'?",
    ],
    [
      { assignmentStrategy: 'cooperative-stick' },
      "CHOICE bindings.orders.assignmentStrategy: must be one or a list of 'cooperative-sticky', 'sticky', 'range', each at most once; got 'cooperative-stick'. Did you mean 'cooperative-sticky'?",
    ],
    [
      { assignmentStrategy: ['stiky', 'range'] },
      "CHOICE bindings.orders.assignmentStrategy: must be one or a list of 'cooperative-sticky', 'sticky', 'range', each at most once; got ['stiky', 'range']. Did you mean 'sticky'?",
    ],
    [
      { assignmentStrategy: ['range', 'range'] },
      "CHOICE bindings.orders.assignmentStrategy: must be one or a list of 'cooperative-sticky', 'sticky', 'range', each at most once; got ['range', 'range'].",
    ],
    [
      { maxPollIntervalMs: '0s' },
      "DURATION bindings.orders.maxPollIntervalMs: must be a duration of at least 1 ms; got '0s'.",
    ],
    [
      { retry: { tiers: [{ delayMs: '10s' }, { delayMs: 'later' }] } },
      `DURATION bindings.orders.retry.tiers[1].delayMs: must be a duration of at least 1 ms; got 'later'. 'later' ${NO_DURATION}`,
    ],
    [
      { retry: { nonRetryableExceptions: ['Fine', 'not a name'] } },
      `ERROR_MATCHER bindings.orders.retry.nonRetryableExceptions: must be a list in which each item is ${MATCHER}; item 1 is 'not a name'.`,
    ],
    [
      { retry: { skipToTierMapping: [{ match: Foreign, tier: 1 }] } },
      `ERROR_MATCHER bindings.orders.retry.skipToTierMapping[0].match: must be ${MATCHER}; got the class Foreign.`,
    ],
  ])('%j has a message of its own', (properties, message) => {
    expect(complaintsOf(() => resolvedOrders(properties))).toEqual([message]);
  });
});

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
  ])('%j is refused, with the name that was probably meant', (properties, message) => {
    expect(complaintsOf(() => resolvedOrders(properties)).join('|')).toBe(`UNKNOWN_KEY ${message}`);
  });

  it('is not repeated with its value, which may be a password', () => {
    const secret = { sasl: 'hunter2', ssl: { passphrase: 'hunter2' } };
    const found = violationsOf(() => resolveOptions(orders({}, secret)));
    expect(found.map(({ path }) => path)).toEqual(['sasl', 'ssl']);
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });
});

describe('A key through which a file could reach into every object', () => {
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
      const found = violationsOf(() => resolveOptions(JSON.parse(json) as object));
      const forbidden = found.filter(({ rule }) => rule === 'FORBIDDEN_KEY');
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

  it.each(FORBIDDEN)('is refused as the name of a binding or cluster: %s', (name) => {
    const json = `{"brokers":"a:1","bindings":{"${name}":{}},"clusters":{"${name}":{}}}`;
    const found = complaintsOf(() => resolveOptions(JSON.parse(json) as object));
    const words = `'${name}' cannot be the name of a`;
    const remedy =
      "Use 1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-', not beginning with '.' or '-', and no name that every object has.";
    expect(found).toContain(`NAME bindings.${name}: ${words} binding. ${remedy}`);
    expect(found).toContain(`NAME clusters.${name}: ${words} cluster. ${remedy}`);
  });

  it('is refused as the prototype of a literal too', () => {
    const given = JSON.parse('{"topic":"t"}') as object;
    Object.setPrototypeOf(given, { groupId: 'inherited' });
    const run = () => resolveOptions({ brokers: 'a:1', bindings: { orders: given as never } });
    expect(complaintsOf(run)).toEqual([
      'OBJECT bindings.orders: must be a plain object; got an instance of Object.',
    ]);
  });
});

describe('What belongs to the caller', () => {
  class NotFound extends Error {}

  it('is taken by reference where it is a class, a function, a driver or a runtime', () => {
    const matches = (error: Error) => error.message === 'x';
    const driver = new (class MyDriver {
      buffer = Buffer.from('x');
      consumer() {}
      producer() {}
      admin() {}
      close() {}
    })();
    const runtime = Object.fromEntries(
      ['now', 'monotonic', 'setTimer', 'defer', 'random', 'uuid', 'hostname'].map((name) => [
        name,
        () => 0,
      ]),
    );
    const retry = {
      retryableExceptions: [NotFound, { matches }],
      skipToTierMapping: [{ match: TypeError, tier: 2 }],
    };
    const options = orders({ retry }, { brokers: undefined, driver, runtime });
    const { bindings, clusters, runtime: resolved } = resolveOptions(options);
    expect(clusters['default']?.driver).toBe(driver);
    expect(resolved).toBe(runtime);
    expect(bindings[0]?.retry.retryableExceptions[0]).toBe(NotFound);
    expect(bindings[0]?.retry.retryableExceptions[1]).toEqual({ matches });
    expect(bindings[0]?.retry.skipToTierMapping[0]?.match).toBe(TypeError);
  });

  it('is taken by reference where it is how a cluster is reached safely', () => {
    const ca = Buffer.from('certificate');
    const ssl = { ca: [ca], checkServerIdentity: () => undefined };
    const sasl = { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: 't' }) };
    const given = { clusters: { default: { brokers: ['a:1'], ssl, sasl } } };
    const { clusters } = resolveOptions(given);
    expect(clusters['default']?.ssl).toBe(ssl);
    expect(clusters['default']?.sasl).toBe(sasl);
    expect(Object.isFrozen(ssl)).toBe(false);
    expect(Object.isFrozen(sasl)).toBe(false);
  });

  it('is neither changed nor frozen', () => {
    const given = orders({
      retry: { tiers: [{ delayMs: '10s' }], retryableExceptions: [{ code: 'E1' }] },
      maxPollIntervalMs: '10m',
    });
    const before = structuredClone(given);
    resolveOptions(given);
    expect(given).toEqual(before);
    const orderBinding = given.bindings?.['orders'];
    expect(Object.isFrozen(orderBinding)).toBe(false);
    expect(Object.isFrozen(orderBinding?.retry?.tiers)).toBe(false);
    expect(Object.isFrozen(orderBinding?.retry?.retryableExceptions?.[0])).toBe(false);
  });

  it('may be frozen itself', () => {
    const given = Object.freeze(orders(Object.freeze({ retry: Object.freeze({ tiers: [] }) })));
    expect(resolveOptions(given).bindings[0]?.retry.tiers).toEqual([]);
  });
});
