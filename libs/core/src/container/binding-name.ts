import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';

/** It becomes part of metric labels, log lines, container names and URLs. */
const LEGAL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** Refuses names that are no plain words, and those that mean something to every JavaScript object. */
export function assertBindingName(name: unknown): asserts name is string {
  if (typeof name === 'string' && LEGAL_NAME.test(name) && !(name in Object.prototype)) return;
  throw new ConfigurationValidationException([
    {
      rule: 'BINDING_NAME',
      binding: undefined,
      path: 'name',
      value: name,
      message: `${JSON.stringify(name) ?? String(name)} cannot name a binding. Use up to 200 letters, digits, ".", "_" and "-", beginning with a letter or a digit, and no name of a property that every object has.`,
    },
  ]);
}
