import type { DriverLogger } from '@nest-event-bus/broker';
import { Logger } from '@nestjs/common';

type Context = Readonly<Record<string, unknown>>;

/** Writes what the bus has to say through the application's own Nest logger. */
export class NestLogger implements DriverLogger {
  readonly #logger: Logger;

  constructor(name = 'EventBus') {
    this.#logger = new Logger(name);
  }

  debug(message: string, context?: Context): void {
    this.#logger.debug(withContext(message, context));
  }

  info(message: string, context?: Context): void {
    this.#logger.log(withContext(message, context));
  }

  warn(message: string, context?: Context): void {
    this.#logger.warn(withContext(message, context));
  }

  error(message: string, context?: Context): void {
    this.#logger.error(withContext(message, context));
  }
}

function withContext(message: string, context: Context | undefined): string {
  if (!context || Object.keys(context).length === 0) return message;
  return `${message} ${JSON.stringify(context, asText)}`;
}

/** Errors would be written as {}; a bigint would throw. */
function asText(_key: string, value: unknown): unknown {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return typeof value === 'bigint' ? value.toString() : value;
}
