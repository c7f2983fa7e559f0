import { complaintsOf, violationsOf } from '../config/configuration.spec-support.js';
import { keyPaths } from '../config/properties/property-tree.js';
import { loadMessagingProperties } from './load-messaging-properties.js';
import { MESSAGING_DEFAULTS, MessagingProperties } from './messaging-properties.js';
import { FIELD_CASES, treeOf, valueAt } from './messaging-properties.spec-support.js';

const kebab = (path: string): string =>
  path.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Returns the defaults with only one field changed. */
const only = (path: string, value: unknown): readonly unknown[] =>
  FIELD_CASES.map((each) => (each.path === path ? value : each.default));

const fieldsOf = (properties: MessagingProperties): readonly unknown[] =>
  FIELD_CASES.map(({ path }) => valueAt(properties, path));

describe('loadMessagingProperties()', () => {
  it('has exactly the 22 properties of the reference', () => {
    expect(FIELD_CASES).toHaveLength(22);
    expect([...keyPaths(MessagingProperties)].sort()).toEqual(
      FIELD_CASES.map(({ path }) => path).sort(),
    );
  });

  it.each(FIELD_CASES)('$id: $path is $default by default', ({ path, default: expected }) => {
    expect(valueAt(MESSAGING_DEFAULTS, path)).toEqual(expected);
    expect(valueAt(loadMessagingProperties(), path)).toEqual(expected);
  });

  it.each(FIELD_CASES)('$id: $path may be $other, which changes nothing else', (field) => {
    const { path, key, other } = field;
    const given = [
      treeOf(path, other),
      treeOf(kebab(path), other),
      { messaging: treeOf(path, other) },
      treeOf(key, other),
      { [key]: other },
      { [`messaging.${path}`]: String(other) },
      `server.port=8080\n${key}=${other}\n`,
    ];
    const expected = only(path, other);
    expect(given.map((each) => fieldsOf(loadMessagingProperties(each)))).toEqual(
      given.map(() => expected),
    );
  });

  it.each(FIELD_CASES)('$id: $path cannot be $invalid', ({ path, invalid }) => {
    const violations = violationsOf(() => loadMessagingProperties(treeOf(path, invalid)));
    expect(violations.map((violation) => violation.path)).toEqual([`messaging.${path}`]);
  });

  it('returns complete and deeply frozen properties', () => {
    const loaded = loadMessagingProperties({ kafka: { topicPrefix: 'shop' } });
    const { kafka, consumer, producer, retry, rabbitmq } = loaded;
    const parts = [loaded, kafka, consumer, producer, retry, rabbitmq, MESSAGING_DEFAULTS];
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true);
    expect(Object.isFrozen(MESSAGING_DEFAULTS.retry)).toBe(true);
    expect(loadMessagingProperties(loaded)).toEqual(loaded);
  });

  it('does not change the given object', () => {
    const given = { consumer: { 'max-poll-records': 7 } };
    loadMessagingProperties(given);
    expect(given).toEqual({ consumer: { 'max-poll-records': 7 } });
    expect(Object.isFrozen(given.consumer)).toBe(false);
  });

  it('accepts an instance of the class', () => {
    const given = Object.assign(new MessagingProperties(), { enabled: false });
    expect(fieldsOf(loadMessagingProperties({ messaging: given }))).toEqual(only('enabled', false));
    expect(fieldsOf(loadMessagingProperties(given))).toEqual(only('enabled', false));
  });

  it('accepts durations with a unit', () => {
    const given = { consumer: { sessionTimeoutMs: '45s' }, 'retry.max-interval-ms': '1m' };
    const { consumer, retry } = loadMessagingProperties(given);
    expect([consumer.sessionTimeoutMs, retry.maxIntervalMs]).toEqual([45_000, 60_000]);
  });

  it('accepts an unlimited retention', () => {
    const { kafka } = loadMessagingProperties({ kafka: { defaultRetentionMs: -1 } });
    expect(kafka.defaultRetentionMs).toBe(-1);
  });

  it.each<[string, string | object]>([
    ['an empty text', ''],
    ['an empty object', {}],
    ['a file of other things', 'management.port=1\nmessages.basename=x\nkafka.enabled=false'],
    ['a record for fromProperties', { 'spring.kafka.bootstrap-servers': 'a:1' }],
    ['a YAML tree beside the section', { messaging: {}, eventbus: { brokers: 'a:1' } }],
    ['a section without a value', { messaging: undefined }],
    ['an empty line', 'messaging.kafka.topic-prefix='],
    ['an empty section', { consumer: {} }],
  ])('returns the defaults for %s', (_, given) => {
    expect(loadMessagingProperties(given)).toEqual(MESSAGING_DEFAULTS);
  });
});

describe('loadMessagingProperties() with invalid properties', () => {
  it('reports all violations at once', () => {
    const given = {
      messaging: {
        defaultBroker: 'kafka',
        'topic-prefix': 'shop',
        consumer: { concurrency: 0, maxPolRecords: 5, 'max-poll-records': 5, maxPollRecords: 6 },
        retry: 3,
      },
    };
    expect(complaintsOf(() => loadMessagingProperties(given))).toEqual([
      "UNKNOWN_KEY messaging.topic-prefix: there is no property 'messaging.topic-prefix'. Did you mean 'messaging.kafka.topicPrefix'?",
      "UNKNOWN_KEY messaging.consumer.maxPolRecords: there is no property 'messaging.consumer.maxPolRecords'. Did you mean 'messaging.consumer.maxPollRecords'?",
      'OBJECT messaging.retry: must be a plain object; got 3.',
      "KEY_TWICE messaging.consumer.maxPollRecords: is given twice, the first time as 'messaging.consumer.max-poll-records'. Remove one of them.",
      "CHOICE messaging.defaultBroker: must be one of 'KAFKA', 'RABBITMQ'; got 'kafka'. Did you mean 'KAFKA'?",
      'NUMBER messaging.consumer.concurrency: must be a whole number from 1 to 1000; got 0.',
    ]);
  });

  it.each<[string | object, string]>([
    [{ mesaging: { enabled: false } }, "'mesaging'. Did you mean 'messaging'?"],
    ['mesaging.enabled=false', "'mesaging.enabled'. Did you mean 'messaging.enabled'?"],
    [{ rabbit: { enabled: true } }, "'messaging.rabbit'. Did you mean 'messaging.rabbitmq'?"],
    [
      { 'messaging.kafka.retry.max-attempt': '2' },
      "'messaging.kafka.retry.max-attempt'. Did you mean 'messaging.kafka.retry.maxAttempts'?",
    ],
  ])('suggests the nearest name for a misspelt key, at any level: %j', (given, message) => {
    expect(complaintsOf(() => loadMessagingProperties(given))).toEqual([
      expect.stringContaining(`there is no property ${message}`),
    ]);
  });

  it('refuses a section without readable keys', () => {
    expect(complaintsOf(() => loadMessagingProperties({ retry: new Map() }))).toEqual([
      'OBJECT messaging.retry: must be a plain object; got an instance of Map.',
    ]);
  });

  it('lists all names if none is near an unknown key', () => {
    const [complaint] = complaintsOf(() => loadMessagingProperties({ zzz: 1 }));
    expect(complaint).toContain('Known are: messaging.defaultBroker, messaging.enabled,');
  });

  it.each([null, [], 5, true])('refuses the whole of %j', (given) => {
    expect(complaintsOf(() => loadMessagingProperties(given as never))[0]).toContain(
      'OBJECT messaging: must be a plain object or the text of a .properties file; got',
    );
  });

  it('refuses __proto__ at any place', () => {
    const given = JSON.parse('{"kafka":{"__proto__":{"enabled":false}}}') as object;
    expect(complaintsOf(() => loadMessagingProperties({ ...given }))[0]).toContain(
      "UNKNOWN_KEY messaging.kafka.__proto__: there is no property 'messaging.kafka.__proto__'",
    );
  });

  it('reports an unknown key without its value', () => {
    const [violation] = violationsOf(() => loadMessagingProperties({ pasword: 'secret' }));
    expect(JSON.stringify(violation)).not.toContain('secret');
  });
});
