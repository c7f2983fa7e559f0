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

/** One value of each type, with its description in messages. */
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
  /** Returns the complete message for a value of the wrong type. */
  readonly message: (shown: string, value: unknown) => string;
  /** Accepts those items of VALUES that are valid for this key. */
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

/** Options of the application, not of a binding. */
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
    // The content of TLS options is checked by node:tls.
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

/** Accepts `{ a: 1 }`: only its unknown key is invalid, and another test covers unknown keys. */
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
    expect(violationsOf(() => resolvedOrders(nest(key, value)))).toMatchObject([
      { rule, binding: 'orders', path, value, message: message(shown, value) },
    ]);
  });

  const ofTheRoot = ROOT_KINDS.flatMap((kind) =>
    VALUES.filter(([value]) => !kind.takes?.(value)).map(
      ([value, shown]) => [kind.key, shown, value, kind] as const,
    ),
  );

  it.each(ofTheRoot)('option %s of the application cannot be %s', (path, shown, given, kind) => {
    const { rule, message, secret } = kind;
    const value = secret ? undefined : given;
    expect(violationsOf(() => resolveOptions(orders({}, nest(path, given))))).toMatchObject([
      { rule, binding: undefined, path, value, message: message(shown, given) },
    ]);
  });

  it('undefined counts as an option that is not set', () => {
    const nothing = { concurrency: undefined, retry: undefined, dlt: { topic: undefined } };
    expect(resolvedOrders(nothing)).toEqual(resolvedOrders());
  });

  it.each(['enable.auto.commit', 'enableAutoCommit', 'autoCommit', 'autoCommitInterval'])(
    'is an unknown option, as %s is, which turns on automatic commits in other clients',
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
  ])('%j is refused with a message that names the expected value', (properties, message) => {
    expect(complaintsOf(() => resolvedOrders(properties))).toEqual([message]);
  });
});
