import { HandlerDiscoveryException } from '../../errors/handler-errors.js';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { RecordKey } from '../../model/records/record-key.js';
import type {
  MessageHandler,
  MessageMetadata,
} from '../../model/extension-points/handler-interfaces.js';
import type { RecordHandler } from '../../model/extension-points/record-handler.js';
import { awaitable } from './awaitable.js';
import type { EventHandlerOptions } from '../decorators/handler-options.js';
import type { HandlerDefinition } from '../exploring/handler-definition.js';

/** Describes a handler without the functions that call it. */
export type HandlerDescription = Omit<HandlerDefinition, 'invoke' | 'invokeWith'>;

/** Separates the options of the handler itself from the properties of its binding. */
export function describeHandler(
  binding: string,
  form: HandlerDefinition['form'],
  origin: string,
  { type, payload, filter, cluster, ...bindingProperties }: EventHandlerOptions,
): HandlerDescription {
  // Options with a topic define the binding, so `cluster` belongs to the binding. Without a topic,
  // `cluster` only selects an existing binding.
  const definesBinding = bindingProperties.topic !== undefined && cluster !== undefined;
  const properties = definesBinding ? { ...bindingProperties, cluster } : bindingProperties;
  return { binding, cluster, type, form, payload, filter, properties, origin };
}

/** Defines a handler for a binding that is registered at run time. */
export function recordHandler<T, K = RecordKey>(
  binding: string,
  handle: RecordHandler<T, K>,
  options: EventHandlerOptions = {},
): HandlerDefinition {
  return {
    ...describeHandler(binding, 'record', originOf(handle, binding), options),
    invoke: ([record], [context]) => awaitable((handle as RecordHandler)(record!, context!)),
  };
}

/** Defines a handler object, which takes the message and its metadata instead of a record and its context. */
export function messageHandler<T>(
  binding: string,
  handler: MessageHandler<T>,
  options: EventHandlerOptions = {},
): HandlerDefinition {
  const origin = `${handler.constructor.name}.handle registered for '${binding}'`;
  return {
    ...describeHandler(binding, 'record', origin, options),
    invoke: ([record], [context]) => handleMessage(handler, record!, context!),
  };
}

/** Calls a handler object with the message and its metadata. */
export function handleMessage(
  handler: MessageHandler,
  record: EventRecord,
  context: EventContext,
): unknown {
  return awaitable(handler.handle(record.value, new RecordMetadata(record, context)));
}

/**
 * Reads headers and signal from the record and its context on demand, so that those that are not
 * used are never created.
 */
class RecordMetadata implements MessageMetadata {
  readonly #record: EventRecord;
  readonly #context: EventContext;

  constructor(record: EventRecord, context: EventContext) {
    this.#record = record;
    this.#context = context;
  }

  get topic(): string {
    return this.#record.topic;
  }

  get partition(): number {
    return this.#record.partition;
  }

  get offset(): bigint {
    return this.#record.offset;
  }

  get key(): RecordKey {
    return this.#record.key;
  }

  get timestamp(): number {
    return this.#record.timestamp;
  }

  get headers(): EventRecord['headers'] {
    return this.#record.headers;
  }

  get attempt(): EventContext['attempt'] {
    return this.#context.attempt;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get context(): EventContext {
    return this.#context;
  }

  toJSON(): Readonly<Record<string, unknown>> {
    return { ...this.#record.toJSON(), attempt: this.attempt };
  }
}

function originOf(handle: unknown, binding: string): string {
  if (typeof handle !== 'function') {
    throw new HandlerDiscoveryException([
      `Binding '${binding}' was registered without a handler. Pass a function that takes (record, context).`,
    ]);
  }
  return `${handle.name || 'a function'} registered for '${binding}'`;
}
