import type { AdminLetterFilter } from '../admin/api/schemas/letter-schemas.js';
import { CommandUsageError } from './command-error.js';
import { numberOption, type CommandOptions } from './command-options.js';

const NUMBERS = new Set(['originalPartition', 'tier', 'replays']);
const DURATIONS = new Set(['olderThan', 'youngerThan']);
const RANGES = new Set(['originalOffset', 'deadLetteredAt']);
const TEXTS = new Set(['exceptionClass', 'group', 'reason', 'cause', 'key']);
const HEADER = 'header.';

/** `name=value`, or `name^=prefix`. */
const CONDITION = /^([\w.-]+?)(\^?=)(.*)$/s;

const ADVICE = 'Write --where exceptionClass=TimeoutError, --where key^=eu- or --where tier=1..2.';

/** Reads `--where` and `--filter` as the filter of the API. */
export function readFilter({ where, filter }: CommandOptions): AdminLetterFilter | undefined {
  if (filter !== undefined && where !== undefined)
    throw new CommandUsageError('Write --where or --filter, not both.');
  if (filter !== undefined) return readJson(filter);
  if (where === undefined) return undefined;
  const conditions: Record<string, unknown> = {};
  const headers: Record<string, unknown> = {};
  for (const text of where) {
    const [, name = '', operator = '', value = ''] = CONDITION.exec(text) ?? [];
    const isHeader = name.startsWith(HEADER);
    const place = isHeader ? headers : conditions;
    const key = isHeader ? name.slice(HEADER.length) : name;
    if (key === '') throw new CommandUsageError(`--where ${text} is no condition. ${ADVICE}`);
    if (key in place) throw new CommandUsageError(`--where names ${name} twice.`);
    place[key] = readCondition(name, operator, value);
  }
  if (Object.keys(headers).length > 0) conditions['headers'] = headers;
  return conditions;
}

/** The letters that a redrive selects. To select none is an error, as it is in the API. */
export interface LetterSelection {
  readonly where?: AdminLetterFilter;
  readonly all?: true;
  readonly limit?: number;
}

export function readSelection(options: CommandOptions): LetterSelection {
  const where = readFilter(options);
  const limit = numberOption(options, 'limit');
  if (where === undefined && limit === undefined && options.all !== true)
    throw new CommandUsageError(
      'Say which dead letters: --where <condition>, --filter <JSON>, --limit <number> or --all.',
    );
  return {
    ...(where && { where }),
    ...(limit !== undefined && { limit }),
    ...(options.all === true && { all: true }),
  };
}

function readCondition(name: string, operator: string, value: string): unknown {
  const isText = TEXTS.has(name) || name.startsWith(HEADER);
  if (isText) return operator === '^=' ? { prefix: value } : value;
  if (operator === '^=') throw new CommandUsageError(`${name} has no prefix. ${ADVICE}`);
  if (DURATIONS.has(name)) return value;
  const [from, to] = rangeOf(value);
  if (RANGES.has(name)) return { ...(from !== '' && { from }), ...(to !== '' && { to }) };
  if (!NUMBERS.has(name))
    throw new CommandUsageError(
      `Unknown field ${name}. Fields: ${[...TEXTS, ...NUMBERS, ...RANGES, ...DURATIONS].join(', ')}, header.<name>.`,
    );
  if (!value.includes('..')) return readNumber(name, value);
  return {
    ...(from !== '' && { from: readNumber(name, from) }),
    ...(to !== '' && { to: readNumber(name, to) }),
  };
}

function rangeOf(value: string): readonly [from: string, to: string] {
  const [from = '', to] = value.split('..', 2);
  return [from, to ?? from];
}

function readNumber(name: string, text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isInteger(value))
    throw new CommandUsageError(`${name} is compared with a whole number. ${ADVICE}`);
  return value;
}

function readJson(text: string): AdminLetterFilter {
  try {
    return JSON.parse(text) as AdminLetterFilter;
  } catch {
    throw new CommandUsageError(
      `--filter must be JSON, such as --filter '{"exceptionClass":"TimeoutError"}'.`,
    );
  }
}
