import { EventBusException } from './event-bus-exception.js';

/** One thing that is wrong with the configuration. */
export interface ConfigurationViolation {
  /** Stable, for tests and tools: `UNKNOWN_KEY`, `RETRY_BUDGET`, ... */
  readonly rule: string;
  /** undefined where the trouble is not of one binding. */
  readonly binding: string | undefined;
  /** From the root of the options: `bindings.orders.retry.tier0.maxAttempts`. */
  readonly path: string;
  readonly value: unknown;
  /** What is wrong and what to do. */
  readonly message: string;
}

/** Everything that is wrong, at once: in the options, or in a binding that is registered at run time. */
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
