import { EventBusException } from './event-bus-exception.js';

/** The control topic of the fleet cannot be used. */
export class FleetUnavailableException extends EventBusException {
  readonly code = 'FLEET_UNAVAILABLE';
  readonly retriable = true;

  constructor(
    readonly topic: string,
    complaint: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(
      `The control topic '${topic}' ${complaint}. A command with scope 'process' reaches this process without it.`,
      options,
    );
  }
}

/** A command was to reach the fleet, and no control topic is configured. */
export class FleetNotConfiguredException extends EventBusException {
  readonly code = 'FLEET_NOT_CONFIGURED';
  readonly retriable = false;

  constructor() {
    super(
      "This process knows no other processes: no control topic is configured. Set fleet.controlTopic, or give the command with scope 'process'.",
    );
  }
}

/** A pause or stop of the whole fleet is in force, and does not allow the command. */
export class FleetOrderException extends EventBusException {
  readonly code = 'FLEET_ORDER_IN_FORCE';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    command: string,
    stopped: string,
  ) {
    super(`Cannot ${command} binding '${binding}' in the fleet: ${stopped}. Start it first.`);
  }
}
