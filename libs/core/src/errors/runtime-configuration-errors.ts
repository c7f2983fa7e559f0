import { EventBusException } from './event-bus-exception.js';

/** An option cannot be changed while the application runs. Nothing was changed. */
export class ConfigurationNeedsRestartException extends EventBusException {
  readonly code = 'CONFIGURATION_NEEDS_RESTART';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly keys: readonly string[],
  ) {
    super(
      `Binding '${binding}' cannot take a new ${keys.join(', ')} while the application runs. Nothing was changed. Set the new value in the configuration, and start the application again.`,
    );
  }
}
