import {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from '../errors/configuration-validation-exception.js';
import { HandlerDiscoveryException } from '../errors/handler-errors.js';

/** Collects errors of options and of handlers, so that one failed start reports all of them. */
export class StartupErrors {
  readonly #violations: ConfigurationViolation[] = [];
  readonly #problems: string[] = [];

  addProblems(problems: readonly string[]): void {
    this.#problems.push(...problems);
  }

  addViolations(violations: readonly ConfigurationViolation[]): void {
    this.#violations.push(...violations);
  }

  /** Returns the result of `work`, or undefined after collecting the errors that it threw. */
  try<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (error instanceof ConfigurationValidationException) this.addViolations(error.violations);
      else if (error instanceof HandlerDiscoveryException) this.addProblems(error.problems);
      else throw error;
      return undefined;
    }
  }

  throwIfAny(): void {
    if (this.#violations.length > 0) {
      const problems = this.#problems.map(asViolation);
      throw new ConfigurationValidationException([...this.#violations, ...problems]);
    }
    if (this.#problems.length > 0) throw new HandlerDiscoveryException(this.#problems);
  }
}

function asViolation(message: string): ConfigurationViolation {
  return { rule: 'HANDLERS', binding: undefined, path: 'handlers', value: undefined, message };
}
