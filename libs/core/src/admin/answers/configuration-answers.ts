import type { AdminConfiguration } from '../api/schemas/configuration-schemas.js';
import type { BindingConfiguration } from '../binding-configuration.js';
import { bindingAnswer } from './binding-answers.js';

export function configurationAnswer({
  binding,
  options,
}: BindingConfiguration): AdminConfiguration {
  return { ...bindingAnswer(binding), scope: 'process', options };
}
