import {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from '../../errors/configuration-validation-exception.js';

/** Collects violations, so that one error can report all of them. */
export class Violations {
  readonly #violations: ConfigurationViolation[] = [];

  constructor(private readonly binding?: string) {}

  get all(): readonly ConfigurationViolation[] {
    return this.#violations;
  }

  add(rule: string, path: string, value: unknown, message: string): void {
    this.#violations.push(withoutSecrets({ rule, binding: this.binding, path, value, message }));
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

/**
 * Keeps an object readable, but does not print it with the exception: a section of the options may
 * contain passwords.
 */
function withoutSecrets(violation: ConfigurationViolation): ConfigurationViolation {
  const isSection = typeof violation.value === 'object' && violation.value !== null;
  return isSection ? Object.defineProperty(violation, 'value', { enumerable: false }) : violation;
}

export const isWithin = (path: string, parent: string): boolean =>
  path === parent || (path.startsWith(parent) && /^[.[]/.test(path.slice(parent.length)));

/**
 * Appends a key to a path, as in `bindings.orders`. A key with dots is not quoted, so that the path
 * stays readable.
 */
export const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);
