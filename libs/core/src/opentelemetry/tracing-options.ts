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

const CHOICE_NAMES = Object.keys(CHOICES) as readonly OptionName[];
const SAMPLE_RATIO = 'sampleRatio';
const NAMES: readonly string[] = [...CHOICE_NAMES, SAMPLE_RATIO];

/** Throws if an option of `EventBusTelemetryModule` is unknown or has another value. */
export function requireTracingOptions(options: object): void {
  const violations = Object.entries(options).flatMap(([name, value]) => {
    if (name === SAMPLE_RATIO) return wrongRatio(value);
    return CHOICE_NAMES.includes(name as OptionName)
      ? wrongChoice(name as OptionName, value)
      : [violation('UNKNOWN_KEY', name, value, unknownOption(name))];
  });
  if (violations.length > 0) throw new ConfigurationValidationException(violations);
}

function wrongRatio(value: unknown): readonly ConfigurationViolation[] {
  if (value === undefined) return [];
  const isRatio = typeof value === 'number' && value >= 0 && value <= 1;
  const message = 'must be a number from 0 (no record) to 1 (every record).';
  return isRatio ? [] : [violation('RANGE', SAMPLE_RATIO, value, message)];
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
