import { HandlerDiscoveryException } from '../errors/handler-errors.js';
import type { RecordHandler, SliceHandler } from '../model/record-handler.js';
import type { EventHandlerOptions } from './handler-options.js';
import type { HandlerDefinition } from './handler-definition.js';

/** What a definition says besides how it is called. */
export type HandlerDescription = Omit<HandlerDefinition, 'invoke' | 'invokeWith'>;

/** Parts what a handler says about itself from what it says about its binding. */
export function describeHandler(
  binding: string,
  form: HandlerDefinition['form'],
  origin: string,
  { type, payload, filter, cluster, ...properties }: EventHandlerOptions,
): HandlerDescription {
  return { binding, cluster, type, form, payload, filter, properties, origin };
}

/** A handler for a binding that is registered at run time. */
export function recordHandler<T>(
  binding: string,
  handle: RecordHandler<T>,
  options: EventHandlerOptions = {},
): HandlerDefinition {
  return {
    ...describeHandler(binding, 'record', originOf(handle, binding), options),
    invoke: ([record], [context]) => (handle as RecordHandler)(record!, context!),
  };
}

/** The same for a handler that takes a whole slice. */
export function sliceHandler<T>(
  binding: string,
  handle: SliceHandler<T>,
  options: EventHandlerOptions = {},
): HandlerDefinition {
  return {
    ...describeHandler(binding, 'slice', originOf(handle, binding), options),
    invoke: (records, contexts) => (handle as SliceHandler)(records, contexts),
  };
}

function originOf(handle: unknown, binding: string): string {
  if (typeof handle !== 'function') {
    throw new HandlerDiscoveryException([
      `Binding '${binding}' was registered without a handler. Pass a function that takes (record, context).`,
    ]);
  }
  return `${handle.name || 'a function'} registered for '${binding}'`;
}
