import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { EventBusEvent, EventBusEventName } from '../model/events/event-bus-events.js';
import type {
  BindingEventSink,
  BindingObserver,
  EventDetails,
  EventSink,
} from '../model/events/event-sink.js';

export interface BindingEventsParts {
  readonly binding: { readonly name: string; readonly cluster: string };
  readonly observers: readonly BindingObserver[];
  /** The events of the whole bus, for the listeners of the application. */
  readonly events: EventSink;
  readonly runtime: Pick<Runtime, 'now'>;
  readonly logger: DriverLogger;
}

/** Passes the events of one binding to its observers, and to the listeners of the application. */
export class BindingEvents implements BindingEventSink {
  readonly #observed: ReadonlySet<EventBusEventName>;

  constructor(private readonly parts: BindingEventsParts) {
    this.#observed = new Set(parts.observers.flatMap(({ observes }) => observes));
  }

  wants(name: EventBusEventName): boolean {
    return this.#observed.has(name) || this.parts.events.wants(name);
  }

  emit<Name extends EventBusEventName>(name: Name, details: EventDetails<Name>): void {
    if (!this.wants(name)) return;
    const { binding, events, runtime } = this.parts;
    const base = { name, at: runtime.now(), binding: binding.name, cluster: binding.cluster };
    const event = Object.freeze({ ...base, ...details }) as unknown as EventBusEvent;
    for (const observer of this.parts.observers)
      if (observer.observes.includes(name)) this.#pass(observer, event);
    events.emit(event);
  }

  /** Logs an error of an observer, because it must not change what happens to a record. */
  #pass(observer: BindingObserver, event: EventBusEvent): void {
    try {
      observer.observe(event);
    } catch (error) {
      this.parts.logger.error('An observer of events threw', {
        binding: event.binding,
        event: event.name,
        reason: errorReasonOf(error),
      });
    }
  }
}
