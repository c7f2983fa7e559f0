import { AdminClientError } from '../admin-client/admin-client-error.js';
import { createAdminClient, type FetchFunction } from '../admin-client/admin-client.js';
import type { Command, Output } from './command.js';
import { CommandUsageError } from './command-error.js';
import { parseArguments, type CommandOptions } from './command-options.js';
import { bindingCommands } from './commands/binding-commands.js';
import { configurationCommands } from './commands/configuration-commands.js';
import { fleetCommands } from './commands/fleet-commands.js';
import { letterCommands } from './commands/letter-commands.js';
import { operationCommands } from './commands/operation-commands.js';
import { printable, tableOf } from './text-table.js';

const COMMANDS = {
  ...bindingCommands,
  ...configurationCommands,
  ...fleetCommands,
  ...letterCommands,
  ...operationCommands,
};
const DEFAULT_URL = 'http://127.0.0.1:3000/eventbus';

/** The process in which a command runs. */
export interface CommandProcess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether `err` goes to a terminal, so that progress can replace itself. */
  readonly isTerminal: boolean;
  readonly fetch?: FetchFunction;
}

/** Exit codes: 0 done, 1 refused or failed, 2 the command line is wrong. */
export type ExitCode = 0 | 1 | 2;

/** Runs one command of `eventbus`. */
export async function runCommandLine(
  args: readonly string[],
  host: CommandProcess,
): Promise<ExitCode> {
  const writer = new CommandOutput(host);
  try {
    const { words, options } = parseArguments(args);
    if (options.help === true || words.length === 0) {
      host.out(helpText());
      return options.help === true ? 0 : 2;
    }
    const { command, rest } = findCommand(words);
    const client = createAdminClient({
      url: options.url ?? host.environment['EVENTBUS_URL'] ?? DEFAULT_URL,
      headers: () => headersOf(options, host.environment),
      ...(host.fetch && { fetch: host.fetch }),
    });
    await command.run({ client, words: rest, options, output: writer });
    writer.endProgress();
    return writer.hasFailed ? 1 : 0;
  } catch (error) {
    writer.endProgress();
    host.err(`${printable(messageOf(error))}\n`);
    return error instanceof CommandUsageError ? 2 : 1;
  }
}

function findCommand(words: readonly string[]): {
  readonly command: Command;
  readonly rest: readonly string[];
} {
  const length = words[0] === 'dlt' ? 2 : 1;
  const name = words.slice(0, length).join(' ');
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new CommandUsageError(`There is no command '${name}'. See eventbus --help.`);
  const rest = words.slice(length);
  const [least, most] = command.words;
  if (rest.length < least || rest.length > most)
    throw new CommandUsageError(`Write: eventbus ${command.usage}`);
  return { command, rest };
}

/** `--header` adds a header. A secret belongs into EVENTBUS_AUTHORIZATION, which no process list shows. */
function headersOf(
  { header = [] }: CommandOptions,
  environment: CommandProcess['environment'],
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  const authorization = environment['EVENTBUS_AUTHORIZATION'];
  if (authorization) headers['authorization'] = authorization;
  for (const text of header) {
    const colon = text.indexOf(':');
    if (colon < 1) throw new CommandUsageError("Write --header 'name: value'.");
    headers[text.slice(0, colon).trim().toLowerCase()] = text.slice(colon + 1).trim();
  }
  return headers;
}

function messageOf(error: unknown): string {
  if (error instanceof CommandUsageError) return error.message;
  if (error instanceof AdminClientError) return `${error.code}: ${error.message}`;
  const { message, cause } = error as { message?: unknown; cause?: { code?: unknown } };
  const code = typeof cause?.code === 'string' ? ` (${cause.code})` : '';
  return `The admin API did not answer: ${String(message)}${code}. Give its address by --url or EVENTBUS_URL.`;
}

function helpText(): string {
  const rows = Object.values(COMMANDS).map(({ usage, summary }) => `  ${usage}\n      ${summary}`);
  return `${[
    'Usage: eventbus <command> [options]',
    '',
    ...rows,
    '',
    'Options of all commands:',
    ...tableOf(
      ['  --url <address>', `Address of the admin API, else EVENTBUS_URL. Default ${DEFAULT_URL}.`],
      [
        ["  --header 'name: value'", 'A header of each request. May be given more than once.'],
        ['  --cluster <name>', 'The cluster of the binding, if several have its name.'],
        ['  --json', 'Writes the answers of the API as JSON.'],
        ['  --help', 'Shows this text.'],
      ],
    ),
    '',
    'EVENTBUS_AUTHORIZATION is sent as the header authorization.',
    'Conditions: --where exceptionClass=TimeoutError, --where key^=eu-, --where tier=1..2,',
    "--where header.tenant=acme. Anything else: --filter '<JSON of the API>'.",
    'Exit codes: 0 done, 1 refused or failed, 2 the command line is wrong.',
  ].join('\n')}\n`;
}

class CommandOutput implements Output {
  hasFailed = false;
  #hasProgress = false;

  constructor(private readonly host: CommandProcess) {}

  line(text: string): void {
    this.endProgress();
    this.host.out(`${printable(text)}\n`);
  }

  json(value: unknown, form: 'lines' | 'one line'): void {
    this.endProgress();
    this.host.out(`${JSON.stringify(value, undefined, form === 'lines' ? 2 : undefined)}\n`);
  }

  progress(text: string): void {
    if (!this.host.isTerminal) {
      this.host.err(`${text}\n`);
      return;
    }
    this.#hasProgress = true;
    this.host.err(`\r\u001B[K${text}`);
  }

  fail(): void {
    this.hasFailed = true;
  }

  endProgress(): void {
    if (this.#hasProgress) this.host.err('\n');
    this.#hasProgress = false;
  }
}
