import type { EventBusEvent, EventBusEventName } from '../../model/events/event-bus-events.js';
import type { AnyBindingName, NameCheck } from '../../model/states/event-bus-bindings.js';
import { decoratedMethod } from '../exploring/misplaced-decorator.js';
import { DeclarationList } from './declaration-list.js';
import { warnWithoutBus } from './host-without-bus.js';

/** Selects the bindings whose events a method takes. Without a binding, it takes those of all. */
export interface EventListenerOptions<Name extends AnyBindingName = AnyBindingName> {
  readonly binding?: Name & NameCheck<Name>;
  /** Alias of the cluster, if bindings of several clusters have the same name. */
  readonly cluster?: string;
}

/** Declaration of `@OnEventBus` on a method. */
export interface EventListenerDeclaration {
  readonly names: readonly EventBusEventName[];
  readonly binding: string | undefined;
  readonly cluster: string | undefined;
}

/**
 * Decorator of a method that takes events. The second signature accepts nothing: with it, Nest's
 * `applyDecorators` accepts the decorator.
 */
export interface EventListenerDecorator<Name extends EventBusEventName> {
  <Listener extends (event: EventBusEvent<Name>) => unknown>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<Listener>,
  ): void;
  (target: never, key: never, descriptor: never, composed: never): void;
}

const listeners = new DeclarationList<EventListenerDeclaration>('event-listener');

/**
 * Calls a method with the events of this name, or of these names. The method gets one event at a
 * time, after the work on the record. If it throws or hangs, nothing changes for records.
 */
export function OnEventBus<Name extends EventBusEventName, Binding extends AnyBindingName>(
  name: Name | readonly Name[],
  { binding, cluster }: EventListenerOptions<Binding> = {},
): EventListenerDecorator<Name> {
  return (target: object, key: string | symbol, descriptor?: PropertyDescriptor): void => {
    const carrier = decoratedMethod('@OnEventBus', target, key, descriptor);
    if (!carrier) return;
    listeners.add({ names: [name].flat(), binding, cluster }, carrier);
    warnWithoutBus(target);
  };
}

export function eventListenerDeclarations(method: object): readonly EventListenerDeclaration[] {
  return listeners.of(method);
}
