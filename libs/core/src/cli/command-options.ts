import { parseArgs } from 'node:util';
import { CommandUsageError } from './command-error.js';

const OPTIONS = {
  url: { type: 'string' },
  header: { type: 'string', multiple: true },
  cluster: { type: 'string' },
  reason: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  tier: { type: 'string' },
  set: { type: 'string', multiple: true },
  scope: { type: 'string' },
  wait: { type: 'string' },
  'valid-for': { type: 'string' },
  all: { type: 'boolean' },
  where: { type: 'string', multiple: true },
  filter: { type: 'string' },
  limit: { type: 'string' },
  status: { type: 'string' },
  id: { type: 'string' },
  rate: { type: 'string' },
  canary: { type: 'string' },
  'on-approval': { type: 'boolean' },
  'older-than': { type: 'string' },
  plan: { type: 'string' },
} as const;

type Values = ReturnType<
  typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>
>['values'];

/** The options of all commands. */
export type CommandOptions = Readonly<Values>;

export interface ParsedArguments {
  readonly words: readonly string[];
  readonly options: CommandOptions;
}

/** Parts the arguments of the process into words and options. */
export function parseArguments(args: readonly string[]): ParsedArguments {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      options: OPTIONS,
      allowPositionals: true,
    });
    return { words: positionals, options: values };
  } catch (error) {
    throw new CommandUsageError((error as Error).message);
  }
}

/** Reads an option that is a number. */
export function numberOption(
  options: CommandOptions,
  name: 'tier' | 'limit' | 'rate' | 'canary',
): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value))
    throw new CommandUsageError(`--${name} must be a number, such as --${name} 3.`);
  return value;
}
