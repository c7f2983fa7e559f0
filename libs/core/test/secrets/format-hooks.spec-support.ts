import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { TOPIC_NAMING_STRATEGY } from '../../src/discovery/decorators/tokens.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { MARKED_TEXT, throwMarked, type MarkedHook } from './marked-test-bus.spec-support.js';
import { handling, QuotingPayload, deserializer } from './marked-hosts.spec-support.js';

const publish = (application: Parameters<NonNullable<MarkedHook['act']>>[0]): Promise<unknown> =>
  application
    .get(EventPublisher, { strict: false })
    .publish('orders', { id: MARKED_TEXT }, { key: MARKED_TEXT });

/** A driver whose sessions fail with marked errors. */
function failingDriver(method: 'producer' | 'consumer' | 'admin') {
  const driver = memory({ broker: new MemoryBroker({}), clientId: 'marked' });
  return new Proxy(driver, {
    get: (target, key) => {
      if (key === method) return throwMarked;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Formats, topics and clusters. */
export const FORMAT_HOOKS: Readonly<Record<string, MarkedHook>> = {
  'bindings.*.deserializer, Deserializer': {
    properties: { deserializer },
    providers: [handling()],
  },
  'bindings.*.deserializer: a name that is a payload': {
    properties: { deserializer: { name: 'mine', deserialize: async () => throwMarked() } },
    providers: [handling()],
  },
  'bindings.*.keyDeserializer': {
    properties: { keyDeserializer: deserializer },
    providers: [handling()],
  },
  'bindings.*.keyDeserializer: dead-lettered': {
    isCalled: false,
    properties: { keyDeserializer: 'json' },
    providers: [handling()],
  },
  'bindings.*.serializer, Serializer': {
    properties: { serializer: { name: 'mine', serialize: throwMarked } },
    providers: [handling()],
    act: publish,
  },
  'bindings.*.serializer that gives no bytes': {
    isCalled: false,
    properties: { serializer: { name: 'mine', serialize: () => ({ value: { MARKED_TEXT } }) } },
    providers: [handling()],
    act: publish,
  },
  'bindings.*.serializer: toJSON of an event': {
    providers: [handling()],
    act: (application) =>
      application
        .get(EventPublisher, { strict: false })
        .publish('orders', { toJSON: throwMarked }, { key: MARKED_TEXT }),
  },
  'bindings.*.typedJson.types': {
    isCalled: false,
    properties: { deserializer: 'typed-json', typedJson: { types: { Other: QuotingPayload } } },
    providers: [handling()],
  },
  'bindings.*.schemaRegistry.headers: a token with a line break': {
    isCalled: false,
    properties: {
      deserializer: 'avro',
      schemaRegistry: {
        url: 'http://127.0.0.1:9',
        headers: { authorization: `Bearer ${MARKED_TEXT}` },
      },
    },
    providers: [handling()],
    act: publish,
  },
  'bindings.*.schemaRegistry.auth.username, bindings.*.schemaRegistry.auth.password': {
    isCalled: false,
    properties: {
      deserializer: 'avro',
      schemaRegistry: {
        url: 'http://127.0.0.1:9',
        auth: { username: MARKED_TEXT, password: MARKED_TEXT },
      },
    },
    providers: [handling()],
    act: publish,
  },
  'bindings.*.schemaRegistry.url: credentials': {
    isCalled: false,
    properties: {
      deserializer: 'avro',
      schemaRegistry: { url: `http://me:${MARKED_TEXT}@registry:8081?key=${MARKED_TEXT}` },
    },
    providers: [handling()],
  },

  'bindings.*.naming, TopicNamingStrategy': {
    properties: { naming: { retryTopic: throwMarked, deadLetterTopic: throwMarked } },
    providers: [handling()],
  },
  TOPIC_NAMING_STRATEGY: {
    providers: [
      handling(),
      {
        provide: TOPIC_NAMING_STRATEGY,
        useValue: { retryTopic: throwMarked, deadLetterTopic: throwMarked },
      },
    ],
  },
  'driver, clusters.*.driver: no consumer': {
    options: { driver: failingDriver('consumer') },
    providers: [handling()],
  },
  'driver, clusters.*.driver: no producer': {
    options: { driver: failingDriver('producer') },
    providers: [handling()],
    act: publish,
  },
  'driver, clusters.*.driver: no admin': {
    properties: { provisioning: 'create' },
    options: { driver: failingDriver('admin') },
    providers: [handling()],
  },
  'clusters.*.sasl': {
    isCalled: false,
    options: {
      driver: undefined,
      clusters: {
        default: {
          brokers: '127.0.0.1:9',
          sasl: { mechanism: 'plain', usernam: MARKED_TEXT, password: MARKED_TEXT } as never,
        },
      },
    },
    providers: [handling()],
  },
  'clusters.*.ssl': {
    isCalled: false,
    options: {
      driver: undefined,
      clusters: {
        default: {
          brokers: '127.0.0.1:9',
          ssl: { key: MARKED_TEXT, passphrase: MARKED_TEXT, ca: MARKED_TEXT },
        },
      },
    },
    providers: [handling()],
  },
  'brokers, clusters.*.brokers: credentials': {
    isCalled: false,
    options: { driver: undefined, brokers: `kafka://me:${MARKED_TEXT}@127.0.0.1:9` },
    providers: [handling()],
  },
};
