import { isName, nameComplaint } from '../../config/reading/names.js';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';

/** For a name that comes at run time. Those of the options go by the same rule. */
export function assertBindingName(name: unknown): asserts name is string {
  if (isName(name)) return;
  const message = nameComplaint('binding', name);
  throw new ConfigurationValidationException([
    { rule: 'NAME', binding: undefined, path: 'name', value: name, message },
  ]);
}
