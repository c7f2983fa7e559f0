import {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from '../errors/configuration-validation-exception.js';
import { nearestName, suggestion } from '../model/nearest-name.js';

/** The values of each option. The first one is its default. */
const CHOICES = {
  connectBy: ['link', 'parent'],
  semanticConventions: ['1.45', '1.30', 'both'],
} as const;

type OptionName = keyof typeof CHOICES;

const NAMES = Object.keys(CHOICES) as readonly OptionName[];

/** Throws if an option of `EventBusTelemetryModule` is unknown or has another value. */
export function requireTracingOptions(options: object): void {
  const violations = Object.entries(options).flatMap(([name, value]) =>
    NAMES.includes(name as OptionName)
      ? wrongChoice(name as OptionName, value)
      : [violation('UNKNOWN_KEY', name, value, unknownOption(name))],
  );
  if (violations.length > 0) throw new ConfigurationValidationException(violations);
}

function wrongChoice(name: OptionName, value: unknown): readonly ConfigurationViolation[] {
  const choices: readonly unknown[] = CHOICES[name];
  if (value === undefined || choices.includes(value)) return [];
  const nearest = typeof value === 'string' && nearestName(value, CHOICES[name]);
  const known = choices.map((choice) => `'${String(choice)}'`).join(', ');
  const message = `must be one of ${known}.${nearest ? ` Did you mean '${nearest}'?` : ''}`;
  return [violation('CHOICE', name, value, message)];
}

const unknownOption = (name: string): string =>
  `there is no option '${name.slice(0, 100)}' here. ${suggestion(name, NAMES)}`;

function violation(
  rule: string,
  name: string,
  value: unknown,
  message: string,
): ConfigurationViolation {
  const path = `EventBusTelemetryModule.${name.slice(0, 100)}`;
  return { rule, binding: undefined, path, value, message };
}
