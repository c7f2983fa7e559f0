import type { DriverLogger } from '@nest-event-bus/broker';
import { Logger } from '@nestjs/common';

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
      this.#logger[level](withContext(message, context));
    } catch {
      // The log transport may be closed already, so this failure is not logged either.
      return;
    }
  }
}

function withContext(message: string, context: Context | undefined): string {
  if (!context || Object.keys(context).length === 0) return message;
  return `${message} ${asJson(context)}`;
}

function asJson(context: Context): string {
  try {
    return JSON.stringify(context, asText);
  } catch (error) {
    return `(the context cannot be written: ${String(error).split('\n', 1)[0]})`;
  }
}

/**
 * Converts errors and bigints: JSON.stringify would write an error as {}, and throw for a bigint.
 */
function asText(_key: string, value: unknown): unknown {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return typeof value === 'bigint' ? value.toString() : value;
}
