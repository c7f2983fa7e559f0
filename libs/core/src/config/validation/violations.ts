import {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from '../../errors/configuration-validation-exception.js';

/** Collects what is wrong, so that all of it can be told at once. */
export class Violations {
  readonly #found: ConfigurationViolation[] = [];

  constructor(private readonly binding?: string) {}

  get all(): readonly ConfigurationViolation[] {
    return this.#found;
  }

  add(rule: string, path: string, value: unknown, message: string): void {
    this.#found.push({ rule, binding: this.binding, path, value, message });
  }

  include(others: readonly ConfigurationViolation[]): void {
    this.#found.push(...others);
  }

  /** Whether the value at this path, or something inside of it, was found wrong. */
  touches(path: string): boolean {
    return this.#found.some((violation) => isWithin(violation.path, path));
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw new ConfigurationValidationException(this.#found);
  }
}

export const isWithin = (path: string, parent: string): boolean =>
  path === parent || (path.startsWith(parent) && /^[.[]/.test(path.slice(parent.length)));

/** `bindings.orders`, `bindings["a.b"]` stays readable as `bindings.a.b`: names are shown as they are. */
export const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);
