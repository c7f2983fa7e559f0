import { EventBusException } from './event-bus-exception.js';

/** A mistake in the configuration. */
export interface ConfigurationViolation {
  /** A stable name for tests and tools: `UNKNOWN_KEY`, `RETRY_BUDGET`, ... */
  readonly rule: string;
  /** undefined if the mistake does not belong to one binding. */
  readonly binding: string | undefined;
  /** The path from the root of the options: `bindings.orders.retry.tier0.maxAttempts`. */
  readonly path: string;
  readonly value: unknown;
  /** Describes the mistake and how to correct it. */
  readonly message: string;
}

/** Lists every mistake at once: in the options, or in a binding that is registered at run time. */
export class ConfigurationValidationException extends EventBusException {
  readonly code = 'CONFIGURATION_INVALID';
  readonly retriable = false;

  constructor(readonly violations: readonly ConfigurationViolation[]) {
    super(
      [
        `${violations.length} ${violations.length === 1 ? 'thing is' : 'things are'} wrong in the configuration of the event bus:`,
        ...violations.map(({ path, message }) => `  - ${path}: ${message}`),
      ].join('\n'),
    );
  }
}
