import type { EventTypeHandler } from '../../model/extension-points/handler-interfaces.js';
import type { BindingName } from './event-bus-bindings.js';
import { DeclarationList } from './declaration-list.js';
import type { EventHandlerOptions } from './handler-options.js';
import { nameParametersUnlessNamed } from './parameters.js';

/** Declaration of `@HandlesEvents` on a class. The event type comes from the instance. */
export interface EventTypeHandlerDeclaration {
  readonly binding: string;
  readonly options: HandlesEventsOptions;
}

export type HandlesEventsOptions = Omit<EventHandlerOptions, 'type'>;

const handlers = new DeclarationList<EventTypeHandlerDeclaration>('handles-events');

/** Makes a class handle the events of a binding that have the type which its `getEventType` returns. */
export function HandlesEvents(
  binding: BindingName,
  options: HandlesEventsOptions = {},
): (type: new (...args: never[]) => EventTypeHandler<never>) => void {
  return (type) => {
    handlers.add({ binding, options }, type);
    nameParametersUnlessNamed(type, 'handleEvent', ['payload', 'context']);
  };
}

export function eventTypeHandlerDeclarations(type: object): readonly EventTypeHandlerDeclaration[] {
  return handlers.nearest(type);
}
