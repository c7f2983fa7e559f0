import type { EventRecord } from '../../model/records/event-record.js';
import type { EventBusBindings, NameIn, PayloadIn } from './event-bus-bindings.js';
import { declareHandler } from './handler-declaration.js';
import type { EventHandlerOptions } from './handler-options.js';

type Method = (...args: never[]) => unknown;

/** Nothing to object to, or a property that no descriptor has: the message of a compile error. */
type Takes<Payload, Handler extends Method, Wrapped> = unknown extends Payload
  ? unknown
  : Parameters<Handler> extends readonly [infer First, ...unknown[]]
    ? First extends Wrapped
      ? TakesFirst<Payload, First>
      : unknown
    : unknown;

type TakesFirst<Payload, First> =
  First extends EventRecord<infer Value>
    ? Fits<Payload, Value>
    : First extends readonly EventRecord<infer Value>[]
      ? Fits<Payload, Value>
      : unknown;

type Fits<Payload, Value> = [Payload] extends [Value]
  ? unknown
  : { readonly 'this handler takes another payload than its binding gives': Payload };

/** For a method that takes a record and its context, or what its parameter decorators name. */
export type HandlerDecorator<Payload = unknown> = <Handler extends Method>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler> & Takes<Payload, Handler, EventRecord>,
) => void;

/** For a method that takes records and their contexts. */
export type BatchHandlerDecorator<Payload = unknown> = <Handler extends Method>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler> & Takes<Payload, Handler, readonly EventRecord[]>,
) => void;

/** `NoInfer`: the payload comes from the options or the binding, never from where the decorator stands. */
export interface EventHandlerFactory<Bindings = EventBusBindings> {
  <
    Name extends NameIn<Bindings>,
    Payload extends PayloadIn<Bindings, Name> = PayloadIn<Bindings, Name>,
  >(
    binding: Name,
    options?: EventHandlerOptions<Payload>,
  ): HandlerDecorator<NoInfer<Payload>>;
  /** The method takes all records of a slice in one call: an array of records and one of their contexts. */
  Batch<
    Name extends NameIn<Bindings>,
    Payload extends PayloadIn<Bindings, Name> = PayloadIn<Bindings, Name>,
  >(
    binding: Name,
    options?: EventHandlerOptions<Payload>,
  ): BatchHandlerDecorator<NoInfer<Payload>>;
}

/**
 * Makes a method handle the records of a binding. A method may carry several. A method that
 * overrides a decorated one is a handler only if it is decorated itself, as everywhere in Nest.
 */
export const EventHandler: EventHandlerFactory = Object.assign(
  (binding: string, options: EventHandlerOptions = {}) =>
    declareHandler({ binding, form: 'record', options }),
  {
    Batch: (binding: string, options: EventHandlerOptions = {}) =>
      declareHandler({ binding, form: 'slice', options }),
  },
);
