import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { EventBusEvent, EventBusEventName } from '../model/events/event-bus-events.js';
import type { EventSink } from '../model/events/event-sink.js';
import { ListenerQueue, type EventListener } from './listener-queue.js';

/**
 * Passes events to the listeners of the application. Each listener has a queue of its own, so that
 * one that throws, hangs or is slow changes nothing for records and for other listeners.
 */
export class EventHub implements EventSink {
  readonly #queues = new Map<EventBusEventName, readonly ListenerQueue[]>();

  constructor(
    private readonly runtime: Runtime,
    private readonly logger: DriverLogger,
  ) {}

  wants(name: EventBusEventName): boolean {
    return this.#queues.has(name);
  }

  emit(event: EventBusEvent): void {
    for (const queue of this.#queues.get(event.name) ?? []) queue.add(event);
  }

  /** Returns the function that ends the subscription and drops the events that still wait. */
  subscribe(names: readonly EventBusEventName[], listener: EventListener): () => void {
    const queue = new ListenerQueue(listener, this.runtime, this.logger);
    for (const name of names) this.#queues.set(name, [...(this.#queues.get(name) ?? []), queue]);
    return () => {
      queue.close();
      for (const name of names) this.#remove(name, queue);
    };
  }

  #remove(name: EventBusEventName, queue: ListenerQueue): void {
    const rest = (this.#queues.get(name) ?? []).filter((each) => each !== queue);
    if (rest.length > 0) this.#queues.set(name, rest);
    else this.#queues.delete(name);
  }
}
