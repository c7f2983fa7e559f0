import {
  errorNameOf,
  errorReasonOf,
  hasOwnMessage,
  type DriverLogger,
} from '@nest-event-bus/broker';
import { Logger } from '@nestjs/common';
import { logContext } from '../logging/mdc-context-propagator.js';

type Context = Readonly<Record<string, unknown>>;

type Level = 'debug' | 'log' | 'warn' | 'error';

/**
 * Writes the log lines of the bus to the Nest logger of the application. Never throws: a log line
 * that fails must not stop its caller.
 */
export class NestLogger implements DriverLogger {
  readonly #logger: Logger;

  constructor(name = 'EventBus') {
    this.#logger = new Logger(name);
  }

  debug(message: string, context?: Context): void {
    this.#write('debug', message, context);
  }

  info(message: string, context?: Context): void {
    this.#write('log', message, context);
  }

  warn(message: string, context?: Context): void {
    this.#write('warn', message, context);
  }

  error(message: string, context?: Context): void {
    this.#write('error', message, context);
  }

  #write(level: Level, message: string, context: Context | undefined): void {
    try {
      const text = withContext(message, context);
      const line = { text, message: withoutControls(message), fields: fieldsOf(context) };
      logContext.writeLine(line, () => this.#logger[level](text));
    } catch {
      // The log transport may be closed already, so this failure is not logged either.
      return;
    }
  }
}

/** Returns the context for loggers that write fields of their own. */
function fieldsOf(context: Context = {}): Context {
  return Object.fromEntries(
    Object.entries(context).map(([key, value]) => [key, asText(key, value)] as const),
  );
}

/** Adds the context as JSON in the same line, and the stack of an error in lines of its own. */
function withContext(message: string, context: Context | undefined): string {
  if (!context || Object.keys(context).length === 0) return withoutControls(message);
  const { stack, ...rest } = context;
  if (typeof stack !== 'string') return withoutControls(`${message} ${asJson(context)}`);
  return `${withoutControls(`${message} ${asJson(rest)}`)}${indented(stack)}`;
}

/** Indents each line of a stack, so that no line of a message in it looks like a log line. */
function indented(stack: string): string {
  const lines = stack.split('\n').map((line) => `\n    ${withoutControls(line.trim())}`);
  return lines.join('');
}

function asJson(context: Context): string {
  try {
    return JSON.stringify(context, asText);
  } catch (error) {
    return `(the context cannot be written: ${errorReasonOf(error)})`;
  }
}

/**
 * Converts errors and bigints: JSON.stringify would write an error as {}, and throw for a bigint.
 */
function asText(_key: string, value: unknown): unknown {
  if (value instanceof Error) return describeError(value);
  return typeof value === 'bigint' ? value.toString() : value;
}

function describeError(error: Error): string {
  return hasOwnMessage(error) ? `${errorNameOf(error)}: ${error.message}` : errorReasonOf(error);
}

/** Control characters, and the separators of lines that JSON does not escape. */
const CONTROLS = /[\p{Cc}\u2028\u2029]/gu;

/** Escapes control characters, so that no text of a record or of an error can begin a log line. */
function withoutControls(line: string): string {
  return line.replace(
    CONTROLS,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
