import {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from '../../errors/configuration-validation-exception.js';

/** Collects violations, so that all of them are reported together. */
export class Violations {
  readonly #violations: ConfigurationViolation[] = [];

  constructor(private readonly binding?: string) {}

  get all(): readonly ConfigurationViolation[] {
    return this.#violations;
  }

  add(rule: string, path: string, value: unknown, message: string): void {
    this.#violations.push({ rule, binding: this.binding, path, value, message });
  }

  include(others: readonly ConfigurationViolation[]): void {
    this.#violations.push(...others);
  }

  /** Returns true if there is a violation of the value at this path, or of a value inside it. */
  touches(path: string): boolean {
    return this.#violations.some((violation) => isWithin(violation.path, path));
  }

  throwIfAny(): void {
    if (this.#violations.length > 0) throw new ConfigurationValidationException(this.#violations);
  }
}

export const isWithin = (path: string, parent: string): boolean =>
  path === parent || (path.startsWith(parent) && /^[.[]/.test(path.slice(parent.length)));

/**
 * Appends a key to a path: `bindings.orders`. Keys with dots are not quoted, so that the path stays
 * readable.
 */
export const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);
