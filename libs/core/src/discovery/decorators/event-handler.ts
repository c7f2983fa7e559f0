import type { EventRecord } from '../../model/records/event-record.js';
import type { EventBusBindings, NameIn, PayloadIn } from './event-bus-bindings.js';
import { declareHandler } from './handler-declaration.js';
import type { EventHandlerOptions } from './handler-options.js';

type Method = (...args: never[]) => unknown;

/**
 * Resolves to unknown if the handler accepts the payload, else to a type whose missing property is
 * the message of the compile error.
 */
type AcceptsPayload<Payload, Handler extends Method, Wrapped> = unknown extends Payload
  ? unknown
  : Parameters<Handler> extends readonly [infer First, ...unknown[]]
    ? First extends Wrapped
      ? FirstAcceptsPayload<Payload, First>
      : unknown
    : unknown;

type FirstAcceptsPayload<Payload, First> =
  First extends EventRecord<infer Value>
    ? IsAssignable<Payload, Value>
    : First extends readonly EventRecord<infer Value>[]
      ? IsAssignable<Payload, Value>
      : unknown;

type IsAssignable<Payload, Value> = [Payload] extends [Value]
  ? unknown
  : { readonly 'this handler takes another payload than its binding has': Payload };

/**
 * Decorates a method that takes a record and its context, or the values that its parameter
 * decorators select.
 */
export type HandlerDecorator<Payload = unknown> = <Handler extends Method>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler> & AcceptsPayload<Payload, Handler, EventRecord>,
) => void;

/** Decorates a method that takes an array of records and an array of their contexts. */
export type BatchHandlerDecorator<Payload = unknown> = <Handler extends Method>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler> &
    AcceptsPayload<Payload, Handler, readonly EventRecord[]>,
) => void;

/**
 * The type of `EventHandler`. `NoInfer` makes the payload come from the options or the binding,
 * never from the decorated method.
 */
export interface EventHandlerFactory<Bindings = EventBusBindings> {
  <
    Name extends NameIn<Bindings>,
    Payload extends PayloadIn<Bindings, Name> = PayloadIn<Bindings, Name>,
  >(
    binding: Name,
    options?: EventHandlerOptions<Payload>,
  ): HandlerDecorator<NoInfer<Payload>>;
  /**
   * Makes a method handle all records of a slice in one call: an array of records and an array of
   * their contexts.
   */
  Batch<
    Name extends NameIn<Bindings>,
    Payload extends PayloadIn<Bindings, Name> = PayloadIn<Bindings, Name>,
  >(
    binding: Name,
    options?: EventHandlerOptions<Payload>,
  ): BatchHandlerDecorator<NoInfer<Payload>>;
}

/**
 * Makes a method handle the records of a binding. A method may have several such decorators. A method
 * that overrides a decorated one is a handler only if it is decorated itself, as everywhere in Nest.
 */
export const EventHandler: EventHandlerFactory = Object.assign(
  (binding: string, options: EventHandlerOptions = {}) =>
    declareHandler({ binding, form: 'record', options }),
  {
    Batch: (binding: string, options: EventHandlerOptions = {}) =>
      declareHandler({ binding, form: 'slice', options }),
  },
);
