import { isName, nameComplaint } from '../../config/reading/names.js';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';

/** Checks a name that is given at run time. The names of the options follow the same rule. */
export function assertBindingName(name: unknown): asserts name is string {
  if (isName(name)) return;
  const message = nameComplaint('binding', name);
  throw new ConfigurationValidationException([
    { rule: 'NAME', binding: undefined, path: 'name', value: name, message },
  ]);
}
