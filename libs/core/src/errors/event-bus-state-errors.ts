import { EventBusException } from './event-bus-exception.js';

/** The options have disabled the bus. */
export class EventBusDisabledException extends EventBusException {
  readonly code = 'EVENT_BUS_DISABLED';
  readonly retriable = false;

  constructor(operation: string) {
    super(
      `Cannot ${operation}: the event bus is disabled. Set enabled: true, and give it brokers or a driver.`,
    );
  }
}

/** The bus was used before the application was initialised. */
export class EventBusNotReadyException extends EventBusException {
  readonly code = 'EVENT_BUS_NOT_READY';
  readonly retriable = true;

  constructor(operation: string) {
    super(
      `Cannot ${operation}: the event bus has not read its options yet. It does so when the application is initialised (app.init(), app.listen()): use it from onApplicationBootstrap on, not in constructors.`,
    );
  }
}
