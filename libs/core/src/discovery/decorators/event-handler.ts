import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type {
  AnyNameIn,
  EventBusBindings,
  NameCheck,
  PayloadIn,
} from '../../model/states/event-bus-bindings.js';
import { declareHandler } from './handler-declaration.js';
import type { EventHandlerOptions } from './handler-options.js';

type Method = (...args: never[]) => unknown;

/**
 * Payload of the records that a handler takes. A handler of one event type may take one member of a
 * union, since the type selects the records.
 */
interface Expected<Payload = unknown> {
  readonly payload: Payload;
  readonly mayNarrow: boolean;
}

/**
 * Resolves to unknown if the handler accepts the arguments, else to a type whose missing property is
 * the message of the compile error. Parameters with decorators may have any other type.
 */
type AcceptsRecord<Wanted extends Expected, Handler extends Method> =
  Parameters<Handler> extends readonly [infer First, ...infer Others]
    ? AcceptsFirst<Wanted, First> & AcceptsContext<Others>
    : unknown;

type AcceptsFirst<Wanted extends Expected, First> =
  IsAny<First> extends true
    ? unknown
    : [First] extends [EventRecord<infer Value, unknown>]
      ? AcceptsPayload<Wanted, Value>
      : [First] extends [readonly EventRecord<unknown, unknown>[]]
        ? { readonly 'this handler takes an array of records: use @EventHandler.Batch': First }
        : unknown;

type AcceptsContext<Others> = Others extends readonly [infer Second, ...unknown[]]
  ? IsAny<Second> extends true
    ? unknown
    : [Second] extends [readonly EventContext[]]
      ? { readonly 'this handler takes an array of contexts: use @EventHandler.Batch': Second }
      : unknown
  : unknown;

/** The same for a handler of slices. */
type AcceptsSlice<Wanted extends Expected, Handler extends Method> =
  Parameters<Handler> extends readonly [infer First, ...infer Others]
    ? AcceptsFirstOfSlice<Wanted, First> & AcceptsContextsOfSlice<Others>
    : unknown;

type AcceptsFirstOfSlice<Wanted extends Expected, First> =
  IsAny<First> extends true
    ? unknown
    : [First] extends [readonly EventRecord<infer Value, unknown>[]]
      ? AcceptsPayload<Wanted, Value>
      : [First] extends [EventRecord<unknown, unknown>]
        ? { readonly 'a batch handler takes an array of records': First }
        : unknown;

type AcceptsContextsOfSlice<Others> = Others extends readonly [infer Second, ...unknown[]]
  ? IsAny<Second> extends true
    ? unknown
    : [Second] extends [EventContext]
      ? { readonly 'a batch handler takes an array of contexts': Second }
      : unknown
  : unknown;

type AcceptsPayload<Wanted extends Expected, Value> = unknown extends Wanted['payload']
  ? unknown
  : [Wanted['payload']] extends [Value]
    ? unknown
    : Wanted['mayNarrow'] extends true
      ? IsMember<Wanted['payload'], Value>
      : PayloadError<Wanted['payload']>;

type IsMember<Payload, Value> = [Value] extends [Payload] ? unknown : PayloadError<Payload>;

interface PayloadError<Payload> {
  readonly 'this handler takes another payload than its binding has': Payload;
}

type IsAny<T> = 0 extends 1 & T ? true : false;

/**
 * Decorator of a method that takes a record and its context, or the values that its parameter
 * decorators select.
 *
 * The second signature accepts nothing. The compiler compares a type with several signatures without
 * their type parameters, so that Nest's `applyDecorators` accepts this decorator.
 */
export interface HandlerDecorator<Wanted extends Expected = Expected> {
  <Handler extends Method>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<Handler> & AcceptsRecord<Wanted, Handler>,
  ): void;
  (target: never, key: never, descriptor: never, composed: never): void;
}

/** Decorator of a method that takes an array of records and an array of their contexts. */
export interface BatchHandlerDecorator<Wanted extends Expected = Expected> {
  <Handler extends Method>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<Handler> & AcceptsSlice<Wanted, Handler>,
  ): void;
  (target: never, key: never, descriptor: never, composed: never): void;
}

type Checked<Bindings, Name extends string> = Name & NameCheck<Name, Bindings>;

/** Options with an event type, and without a payload class. */
interface OptionsOfType extends EventHandlerOptions {
  readonly type: string;
  readonly payload?: undefined;
}

interface AnyMember<Payload> extends Expected<Payload> {
  readonly mayNarrow: true;
}

interface WholePayload<Payload> extends Expected<Payload> {
  readonly mayNarrow: false;
}

/**
 * Type of `EventHandler`. `NoInfer` makes the compiler take the payload from the options or the
 * binding, never from the decorated method.
 */
export interface EventHandlerFactory<Bindings = EventBusBindings> {
  <Name extends AnyNameIn<Bindings>>(
    binding: Checked<Bindings, Name>,
    options: OptionsOfType,
  ): HandlerDecorator<AnyMember<PayloadIn<Bindings, Name>>>;
  <
    Name extends AnyNameIn<Bindings>,
    Payload extends PayloadIn<Bindings, Name> = PayloadIn<Bindings, Name>,
  >(
    binding: Checked<Bindings, Name>,
    options?: EventHandlerOptions<Payload>,
  ): HandlerDecorator<WholePayload<NoInfer<Payload>>>;
  /**
   * Makes a method handle all records of a slice in one call. It gets an array of records and an
   * array of their contexts.
   */
  readonly Batch: BatchHandlerFactory<Bindings>;
}

export interface BatchHandlerFactory<Bindings = EventBusBindings> {
  <Name extends AnyNameIn<Bindings>>(
    binding: Checked<Bindings, Name>,
    options: OptionsOfType,
  ): BatchHandlerDecorator<AnyMember<PayloadIn<Bindings, Name>>>;
  <
    Name extends AnyNameIn<Bindings>,
    Payload extends PayloadIn<Bindings, Name> = PayloadIn<Bindings, Name>,
  >(
    binding: Checked<Bindings, Name>,
    options?: EventHandlerOptions<Payload>,
  ): BatchHandlerDecorator<WholePayload<NoInfer<Payload>>>;
}

/**
 * Makes a method handle the records of a binding. A method may have several such decorators. A
 * method that overrides a decorated method is a handler only if it has the decorator itself, as
 * everywhere in Nest.
 */
export const EventHandler: EventHandlerFactory = Object.assign(
  (binding: string, options: EventHandlerOptions = {}) =>
    declareHandler({ binding, form: 'record', options }),
  {
    Batch: (binding: string, options: EventHandlerOptions = {}) =>
      declareHandler({ binding, form: 'slice', options }),
  },
);
