import {
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type Type,
} from '@nestjs/common';
import { IsString, Matches } from 'class-validator';
import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { DltAlert, DltHandler } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventHandlerOptions } from '../../src/discovery/decorators/handler-options.js';
import { Payload } from '../../src/discovery/decorators/parameters.js';
import { fromEnvironment } from '../../src/presets/from-environment.js';
import { HandlesEvents } from '../../src/discovery/decorators/handles-events.js';
import {
  EXCEPTION_CLASSIFIER,
  KAFKA_ERROR_HANDLER_OPTIONS,
  TOPIC_NAMING_STRATEGY,
} from '../../src/discovery/decorators/tokens.js';
import { BatchProcessingException } from '../../src/errors/handler-errors.js';
import { NonRetryableException } from '../../src/errors/retry-errors.js';
import { KafkaErrorHandler } from '../../src/failures/routing/kafka-error-handler.js';
import { ConsumerResult } from '../../src/model/outcomes/consumer-result.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import {
  MARKED_TEXT,
  markedError,
  throwMarked,
  type MarkedHook,
} from './marked-test-bus.spec-support.js';

/** Creates a host with a handler of binding `orders`. */
function handling(
  handle: (record: EventRecord, context: EventContext) => unknown = () => undefined,
  options: EventHandlerOptions = {},
  ...decorators: MethodDecorator[]
): Type {
  @Injectable()
  class Orders {
    onOrder(record: EventRecord, context: EventContext): unknown {
      return handle(record, context);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'onOrder')!;
  for (const decorate of [EventHandler('orders', options) as MethodDecorator, ...decorators])
    decorate(Orders.prototype, 'onOrder', descriptor);
  return Orders;
}

/** Creates a host whose handler has one decorated parameter. */
function withPipes(pipes: MethodDecorator | undefined, parameter: ParameterDecorator): Type {
  @Injectable()
  class Orders {
    onOrder(): void {}
  }
  parameter(Orders.prototype, 'onOrder', 0);
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'onOrder')!;
  for (const decorate of [EventHandler('orders') as MethodDecorator, ...(pipes ? [pipes] : [])])
    decorate(Orders.prototype, 'onOrder', descriptor);
  return Orders;
}

const failing = handling(throwMarked);
const dltProviders = (decorate: MethodDecorator): Type => {
  @Injectable()
  class DeadLetters {
    onDeadLetter(): void {
      throwMarked();
    }
  }
  decorate(
    DeadLetters.prototype,
    'onDeadLetter',
    Object.getOwnPropertyDescriptor(DeadLetters.prototype, 'onDeadLetter')!,
  );
  return DeadLetters;
};

class QuotingPayload {
  @IsString()
  @Matches(/^never$/, { message: 'got $value' })
  id = '';
}

class Unconstructible {
  set id(_: string) {
    throwMarked();
  }
}

const quotingSchema = {
  '~standard': {
    version: 1,
    vendor: 'marked',
    validate: (value: unknown) => ({
      issues: [
        { message: `got ${(value as { id: string }).id}`, path: [(value as { id: string }).id] },
      ],
    }),
  },
} as const;

const throwingSchema = {
  '~standard': { version: 1, vendor: 'marked', validate: throwMarked },
} as const;

const deserializer = { name: 'mine', deserialize: throwMarked };
const publish = (application: Parameters<NonNullable<MarkedHook['act']>>[0]): Promise<unknown> =>
  application
    .get(EventPublisher, { strict: false })
    .publish('orders', { id: MARKED_TEXT }, { key: MARKED_TEXT });

const store = (method: 'claim' | 'complete' | 'release') => ({
  claim: () => 'new' as const,
  complete: () => undefined,
  release: () => undefined,
  [method]: () => {
    throw Object.assign(markedError(), {
      message: `Duplicate entry '${MARKED_TEXT}' for key 'PRIMARY'`,
      code: 'ER_DUP_ENTRY',
      errno: 1062,
    });
  },
});

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

const matcher = { matches: throwMarked };

/**
 * Every place at which the bus calls code of the application, or reads a text that may be secret.
 * The name begins with what it covers: an option of the register, a type in
 * `model/extension-points`, a decorator, or something else.
 */
export const MARKED_HOOKS: Readonly<Record<string, MarkedHook>> = {
  // Handlers and their enhancers.
  '@EventHandler': { providers: [failing] },
  '@EventHandler, asynchronous': { providers: [handling(async () => throwMarked())] },
  '@EventHandler that throws a text': {
    isCalled: false,
    providers: [
      handling(() => {
        // oxlint-disable-next-line typescript/only-throw-error
        throw MARKED_TEXT;
      }),
    ],
  },
  '@EventHandler that throws an own class': {
    providers: [
      handling(() => {
        throw new NonRetryableException(MARKED_TEXT, { cause: markedError() });
      }),
    ],
  },
  '@EventHandler that throws a proxy': {
    providers: [
      handling(() => {
        throw new Proxy(markedError(), { get: throwMarked, getPrototypeOf: throwMarked });
      }),
    ],
  },
  '@EventHandler that returns a failure': {
    providers: [handling(() => ConsumerResult.error(MARKED_TEXT, { cause: markedError() }))],
  },
  '@EventHandler that gives the record up': {
    isCalled: false,
    providers: [handling((_, context) => context.deadLetter(MARKED_TEXT))],
  },
  '@EventHandler that throws after acknowledge()': {
    properties: { ack: 'manual' },
    providers: [
      handling((_, context) => {
        context.acknowledge();
        throwMarked();
      }),
    ],
  },
  '@EventHandler.Batch': {
    properties: { listenerType: 'BATCH' },
    providers: [
      (() => {
        @Injectable()
        class Batches {
          @EventHandler.Batch('orders')
          onOrders(records: readonly EventRecord[]): never {
            throw new BatchProcessingException(0, MARKED_TEXT, records, { cause: markedError() });
          }
        }
        return Batches;
      })(),
    ],
  },
  '@HandlesEvents, EventTypeHandler': {
    properties: { typeFrom: '$.type' },
    providers: [
      (() => {
        @Injectable()
        @HandlesEvents('orders')
        class Typed {
          getEventType(): string {
            return MARKED_TEXT;
          }
          handleEvent(): never {
            return throwMarked();
          }
        }
        return Typed;
      })(),
    ],
  },
  'MessageHandler, RecordHandler': {
    providers: [handling()],
    act: async (application, testBus) => {
      const connector = application.get(EventBusConnector, { strict: false });
      await testBus.topic('later');
      await connector.register('later', { topic: 'later', groupId: 'later' }, throwMarked);
      await testBus.write('later', JSON.stringify(MARKED_TEXT));
    },
  },
  '@UseGuards': { providers: [handling(undefined, {}, UseGuards({ canActivate: throwMarked }))] },
  '@UseGuards that refuse': {
    isCalled: false,
    providers: [handling(undefined, {}, UseGuards({ canActivate: () => false }))],
  },
  '@UsePipes': { providers: [withPipes(UsePipes({ transform: throwMarked }), Payload())] },
  '@Payload, @Key, @Header, @Headers, @Ctx, @FullRecord: a pipe of a parameter': {
    providers: [withPipes(undefined, Payload({ transform: throwMarked }))],
  },
  '@UseInterceptors': {
    providers: [handling(undefined, {}, UseInterceptors({ intercept: throwMarked }))],
  },
  '@UseFilters': { providers: [handling(throwMarked, {}, UseFilters({ catch: throwMarked }))] },
  'EventHandlerOptions.filter': { providers: [handling(undefined, { filter: throwMarked })] },
  'EventHandlerOptions.payload: a class whose rules quote the value': {
    isCalled: false,
    providers: [handling(undefined, { payload: QuotingPayload })],
  },
  'EventHandlerOptions.payload: a class that throws': {
    providers: [handling(undefined, { payload: Unconstructible })],
  },
  'EventHandlerOptions.payload: a schema that quotes the value': {
    isCalled: false,
    providers: [handling(undefined, { payload: quotingSchema as never })],
  },
  'EventHandlerOptions.payload: a schema that throws': {
    providers: [handling(undefined, { payload: throwingSchema as never })],
  },
  'EventHandlerOptions.type in a field, skipped': {
    isCalled: false,
    properties: { typeFrom: '$.type' },
    providers: [handling(undefined, { type: 'Other' })],
  },
  'EventHandlerOptions.type in a field, failed': {
    isCalled: false,
    properties: { typeFrom: '$.type', unknownType: 'fail' },
    providers: [handling(undefined, { type: 'Other' })],
  },
  'EventHandlerOptions.type in a header, skipped': {
    isCalled: false,
    providers: [handling(undefined, { type: 'Other' })],
  },
  'schemaVersion.from: a header': {
    isCalled: false,
    properties: { schemaVersion: { supported: ['1'] } },
    providers: [handling()],
  },
  'schemaVersion.from: a field': {
    isCalled: false,
    properties: { schemaVersion: { from: '$.version', supported: ['1'] } },
    providers: [handling()],
  },

  // Dead letters.
  '@DltHandler, DltRecordHandler': {
    properties: { dlt: { strategy: 'CUSTOM' } },
    providers: [failing, dltProviders(DltHandler('orders') as MethodDecorator)],
  },
  '@DltAlert, DltAlertHandler': {
    properties: { dlt: { strategy: 'ALERT_AND_STORE' } },
    providers: [failing, dltProviders(DltAlert('orders') as MethodDecorator)],
  },
  KAFKA_ERROR_HANDLER_OPTIONS: {
    providers: [
      handling(),
      {
        provide: KAFKA_ERROR_HANDLER_OPTIONS,
        useValue: { exceptionDetail: 'full', redact: throwMarked },
      },
    ],
    act: async (application, testBus) => {
      const [record] = await testBus.records('orders');
      await testBus.topic('orders-dlq');
      await application
        .get(KafkaErrorHandler, { strict: false })
        .routeToDlq(record as never, markedError());
    },
  },

  // Classification.
  'bindings.*.classifier, ExceptionClassifier': {
    properties: { classifier: { classify: throwMarked } },
    providers: [failing],
  },
  EXCEPTION_CLASSIFIER: {
    providers: [failing, { provide: EXCEPTION_CLASSIFIER, useValue: { classify: throwMarked } }],
  },
  'bindings.*.exceptionRouting[].match': {
    properties: { exceptionRouting: [{ match: matcher, routing: 'DEAD_LETTER' }] },
    providers: [failing],
  },
  'bindings.*.retry.retryableExceptions': {
    properties: { retry: { tier0: { maxAttempts: 2 }, retryableExceptions: [matcher] } },
    providers: [failing],
  },
  'bindings.*.retry.nonRetryableExceptions': {
    properties: { retry: { tier0: { maxAttempts: 2 }, nonRetryableExceptions: [matcher] } },
    providers: [failing],
  },
  'bindings.*.retry.skipToTierMapping[].match': {
    properties: {
      retry: {
        tiers: [{ delayMs: 500, maxAttempts: 1 }],
        skipToTierMapping: [{ match: matcher, tier: 1 }],
      },
    },
    providers: [failing],
  },
  errorTypes: {
    properties: { retry: { tier0: { maxAttempts: 2 }, retryableExceptions: ['Marked'] } },
    options: { errorTypes: { Marked: Object.assign(class Marked extends Error {}, matcher) } },
    providers: [failing],
  },
  'bindings.*.circuitBreaker: listeners of transitions': {
    properties: {
      circuitBreaker: { slidingWindowSize: 2, minimumNumberOfCalls: 2, failureRateThreshold: 50 },
    },
    providers: [failing],
    act: async (_, testBus) => {
      for (let index = 0; index < 5; index++) await testBus.writeMarked();
    },
  },

  // Idempotency.
  'bindings.*.idempotency.store, IdempotencyStore.claim': {
    properties: { idempotency: { store: store('claim') } },
    providers: [handling()],
  },
  'bindings.*.idempotency.store, IdempotencyStore.claim, processed all the same': {
    properties: { idempotency: { store: store('claim'), onStoreFailure: 'process' } },
    providers: [handling()],
  },
  'bindings.*.idempotency.store, IdempotencyStore.complete': {
    properties: { idempotency: { store: store('complete') } },
    providers: [handling()],
  },
  'bindings.*.idempotency.store, IdempotencyStore.release': {
    properties: { idempotency: { store: store('release') } },
    providers: [failing],
  },
  'bindings.*.idempotency.store: an answer that is none': {
    isCalled: false,
    properties: {
      idempotency: { store: { ...store('release'), claim: () => MARKED_TEXT } },
    },
    providers: [handling()],
  },
  'bindings.*.idempotency.key: a function': {
    properties: { idempotency: { store: store('release'), key: throwMarked } },
    providers: [handling()],
  },
  'bindings.*.idempotency.key: a header': {
    properties: { idempotency: { store: store('complete'), key: { header: 'customer' } } },
    providers: [handling()],
  },

  // Formats.
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

  // Topics and clusters.
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

  // Events and hooks of the bus and of Nest.
  'listeners of the registry': {
    providers: [handling()],
    act: async (application, testBus) => {
      application.get(ContainerRegistry, { strict: false }).onChange(throwMarked);
      const connector = application.get(EventBusConnector, { strict: false });
      await testBus.topic('later');
      await connector.register('later', { topic: 'later', groupId: 'later' }, () => undefined);
    },
  },
  'lifecycle hooks of Nest': {
    // Nest itself logs the errors of the application's hooks.
    ownLogOnly: true,
    providers: [
      (() => {
        @Injectable()
        class Hooked {
          @EventHandler('orders')
          onOrder(): void {}
          onModuleDestroy(): void {
            throwMarked();
          }
        }
        return Hooked;
      })(),
    ],
  },
  'options of a binding at run time': {
    isCalled: false,
    providers: [handling()],
    act: (application) => {
      const schemaRegistry = { url: 7, auth: { username: MARKED_TEXT, passwort: MARKED_TEXT } };
      const properties = { topic: 'later', groupId: 'later', deserializer: 'avro', schemaRegistry };
      return application
        .get(EventBusConnector, { strict: false })
        .register('later', properties as never, () => undefined);
    },
  },
  'bindings.*.dlt.redact': { properties: { dlt: { redact: throwMarked } }, providers: [failing] },
  'loaders: the environment': {
    isCalled: false,
    options: {
      driver: undefined,
      loaders: [
        fromEnvironment({
          EVENTBUS_BROKERS: `kafka://me:${MARKED_TEXT}@127.0.0.1:9`,
          EVENTBUS_CLUSTERS_EU_SASL_PASSWORD: MARKED_TEXT,
          EVENTBUS_CLUSTERS_EU_SSL: MARKED_TEXT,
          EVENTBUS_DEFAULTS_SCHEMA_REGISTRY_AUTH_PASSWORD: MARKED_TEXT,
          EVENTBUS_DEFAULTS_SCHEMA_REGISTRY_URL: MARKED_TEXT,
          EVENTBUS_SASL_JAAS_CONFIG: MARKED_TEXT,
        }),
      ],
    },
    providers: [handling()],
  },
};
