import type { AdminClient } from '../admin-client/admin-client.js';
import type { CommandOptions } from './command-options.js';

/** The outputs of a command. */
export interface Output {
  /** Writes one line to the standard output, without characters that change a terminal. */
  line(text: string): void;
  /** Writes a value as JSON, over several lines or in one. */
  json(value: unknown, form: 'lines' | 'one line'): void;
  /** The process ends with exit code 1. */
  fail(): void;
  /** Shows how far long work is. On a terminal, each text replaces the one before. */
  progress(text: string): void;
}

/** What a command is called with. */
export interface CommandCall {
  readonly client: AdminClient;
  /** The words after the name of the command. */
  readonly words: readonly string[];
  readonly options: CommandOptions;
  readonly output: Output;
}

/** A command: `eventbus dlt plan orders --all`. */
export interface Command {
  /** Its words and options as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  /** The number of words after its name: at least, at most. */
  readonly words: readonly [least: number, most: number];
  run(call: CommandCall): Promise<void>;
}
