import type { EventTypeHandler } from '../../model/extension-points/handler-interfaces.js';
import type { AnyBindingName, NameCheck } from '../../model/states/event-bus-bindings.js';
import { DeclarationList } from './declaration-list.js';
import type { EventHandlerOptions } from './handler-options.js';
import { warnWithoutBus } from './host-without-bus.js';
import { nameParametersUnlessNamed } from './parameters.js';

/**
 * Declaration of `@HandlesEvents` on a class. The event type is not part of it, because only the
 * instance can return it.
 */
export interface EventTypeHandlerDeclaration {
  readonly binding: string;
  readonly options: HandlesEventsOptions;
}

export type HandlesEventsOptions = Omit<EventHandlerOptions, 'type'>;

const handlers = new DeclarationList<EventTypeHandlerDeclaration>('handles-events');

/**
 * Makes a class handle those events of a binding whose type is the result of its `getEventType`.
 */
export function HandlesEvents<Name extends AnyBindingName>(
  binding: Name & NameCheck<Name>,
  options: HandlesEventsOptions = {},
): (type: new (...args: never[]) => EventTypeHandler<never>) => void {
  return (type) => {
    handlers.add({ binding, options }, type);
    warnWithoutBus(type.prototype as object);
    nameParametersUnlessNamed(type, 'handleEvent', ['payload', 'context']);
  };
}

export function eventTypeHandlerDeclarations(type: object): readonly EventTypeHandlerDeclaration[] {
  return handlers.nearest(type);
}
