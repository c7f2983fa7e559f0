import { Injectable } from '@nestjs/common';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { OnEventBus } from '../../src/discovery/decorators/on-event-bus.js';
import { EVENT_BUS_TRACER, LAG_ALERT_HANDLER } from '../../src/discovery/decorators/tokens.js';
import { EventBusEvents } from '../../src/events/event-bus-events.js';
import { fromEnvironment } from '../../src/presets/from-environment.js';
import { MARKED_TEXT, throwMarked, type MarkedHook } from './marked-test-bus.spec-support.js';
import { HANDLER_HOOKS } from './handler-hooks.spec-support.js';
import { FAILURE_HOOKS } from './failure-hooks.spec-support.js';
import { FORMAT_HOOKS } from './format-hooks.spec-support.js';
import { handling, failing } from './marked-hosts.spec-support.js';

/**
 * Every place at which the bus calls code of the application, or reads a text that may be secret.
 * The name begins with what it covers: an option of the register, a type in
 * `model/extension-points`, a decorator, or something else.
 */
export const MARKED_HOOKS: Readonly<Record<string, MarkedHook>> = {
  ...HANDLER_HOOKS,
  ...FAILURE_HOOKS,
  ...FORMAT_HOOKS,
  '@OnEventBus': {
    providers: [
      failing,
      (() => {
        @Injectable()
        class Listeners {
          @OnEventBus(['record.failed', 'record.dead-lettered'])
          onEvent(): void {
            throwMarked();
          }
        }
        return Listeners;
      })(),
    ],
  },
  'EventBusEvents: an observer': {
    providers: [failing],
    act: async (application, testBus) => {
      application.get(EventBusEvents, { strict: false }).on('record.failed').subscribe(throwMarked);
      await testBus.writeMarked();
    },
  },
  'listeners of the registry': {
    providers: [handling()],
    act: async (application, testBus) => {
      application.get(ContainerRegistry, { strict: false }).onChange(throwMarked);
      const connector = application.get(EventBusConnector, { strict: false });
      await testBus.topic('later');
      await connector.register('later', { topic: 'later', groupId: 'later' }, () => undefined);
    },
  },
  'EVENT_BUS_TRACER: an EventBusTracer that throws': {
    providers: [
      failing,
      {
        provide: EVENT_BUS_TRACER,
        useValue: {
          process: throwMarked,
          send: throwMarked,
          polled: throwMarked,
          settled: throwMarked,
        },
      },
    ],
  },
  'EVENT_BUS_TRACER: a ProcessTrace and a SendTrace that throw': {
    providers: [
      failing,
      {
        provide: EVENT_BUS_TRACER,
        useValue: {
          process: () => ({ run: throwMarked, end: throwMarked }),
          send: (_: string, records: unknown) => ({ records, end: throwMarked }),
          polled: () => undefined,
          settled: () => undefined,
        },
      },
    ],
  },
  'LAG_ALERT_HANDLER: a LagAlertHandler': {
    options: { lag: { intervalMs: 500 } },
    properties: { alerts: { dltWarning: 0 } },
    providers: [failing, { provide: LAG_ALERT_HANDLER, useValue: { onLagAlert: throwMarked } }],
    act: (_, testBus) => testBus.runtime.advance(30_000),
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
