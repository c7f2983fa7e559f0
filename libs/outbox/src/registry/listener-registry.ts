import { IllegalStateError } from '../errors/argument-errors.js';
import { AggregateType, nameOfAggregateType } from '../model/aggregate-type.js';
import { nameOfEventType, type EventType } from '../model/event-type.js';
import type { OutboxEventListener } from './event-listener.js';

export interface ListenerRegistry {
  /** Returns the listener of exactly this aggregate type and event type; null if there is none. */
  listenerFor(aggregateType: string, eventType: string): OutboxEventListener | null;
}

/** Has one listener per aggregate type and event type. */
export class DefaultListenerRegistry implements ListenerRegistry {
  readonly #listeners = new Map<string, OutboxEventListener>();

  /** Registers a listener for events without an aggregate type. */
  register(type: EventType | string, listener: OutboxEventListener): this;
  register(
    aggregate: AggregateType | string,
    type: EventType | string,
    listener: OutboxEventListener,
  ): this;
  register(
    first: AggregateType | EventType | string,
    second: EventType | string | OutboxEventListener,
    third?: OutboxEventListener,
  ): this {
    return third
      ? this.#add(first, second as EventType | string, third)
      : this.#add(AggregateType.GLOBAL, first, second as OutboxEventListener);
  }

  listenerFor(aggregateType: string, eventType: string): OutboxEventListener | null {
    return this.#listeners.get(keyOf(aggregateType, eventType)) ?? null;
  }

  #add(
    aggregate: AggregateType | string,
    type: EventType | string,
    listener: OutboxEventListener,
  ): this {
    const key = keyOf(nameOfAggregateType(aggregate), nameOfEventType(type));
    if (this.#listeners.has(key))
      throw new IllegalStateError(
        `A listener for '${key}' is registered already. Register one listener per aggregate type and event type.`,
      );
    this.#listeners.set(key, listener);
    return this;
  }
}

const keyOf = (aggregateType: string, eventType: string): string => `${aggregateType}:${eventType}`;
