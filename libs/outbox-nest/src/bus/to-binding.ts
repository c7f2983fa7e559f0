import { EventPublisher } from '@nest-event-bus/core';
import type { RouteListenerFactory } from '../outbox-options.js';
import { BusListener, type ToBindingOptions } from './bus-listener.js';

/** A listener for `routes` that publishes to a binding of the bus. */
export const toBinding =
  (binding: string, options?: ToBindingOptions): RouteListenerFactory =>
  (get) =>
    new BusListener(get(EventPublisher), binding, options);
