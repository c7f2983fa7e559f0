import type { BusEventBase, EventBusEvent, EventBusEventName } from './event-bus-events.js';

/** Takes the events of the whole bus. Never throws, and never calls a listener at once. */
export interface EventSink {
  /** False if nobody listens, so that the event need not be made. */
  wants(name: EventBusEventName): boolean;
  emit(event: EventBusEvent): void;
}

/** What an event says besides its name, its time and its binding. */
export type EventDetails<Name extends EventBusEventName> = Omit<
  EventBusEvent<Name>,
  keyof BusEventBase<Name>
>;

/** Takes the events of one binding. Never throws. */
export interface BindingEventSink {
  wants(name: EventBusEventName): boolean;
  emit<Name extends EventBusEventName>(name: Name, details: EventDetails<Name>): void;
}

/** A part of the bus that hangs on the events of a binding: its counters, its failure log. */
export interface BindingObserver {
  readonly observes: readonly EventBusEventName[];
  /** Called at once, before the listeners of the application. */
  observe(event: EventBusEvent): void;
}

/** Takes no event, for parts that are used without a bus. */
export const NO_EVENTS: BindingEventSink = Object.freeze({
  wants: () => false,
  emit: () => undefined,
});
