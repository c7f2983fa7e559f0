import {
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type Type,
} from '@nestjs/common';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { Payload } from '../../src/discovery/decorators/parameters.js';
import { HandlesEvents } from '../../src/discovery/decorators/handles-events.js';
import { BatchProcessingException } from '../../src/errors/handler-errors.js';
import { NonRetryableException } from '../../src/errors/retry-errors.js';
import { ConsumerResult } from '../../src/model/outcomes/consumer-result.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import {
  MARKED_TEXT,
  markedError,
  throwMarked,
  type MarkedHook,
} from './marked-test-bus.spec-support.js';
import { handling, failing, QuotingPayload } from './marked-hosts.spec-support.js';

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

/** Handlers, their enhancers and the options of `@EventHandler`. */
export const HANDLER_HOOKS: Readonly<Record<string, MarkedHook>> = {
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
    act: async (application, testBus, dlt) => {
      const connector = application.get(EventBusConnector, { strict: false });
      await testBus.topic('later');
      await connector.register('later', { topic: 'later', groupId: 'later', dlt }, throwMarked);
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
};
