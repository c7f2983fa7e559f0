import type { DriverLogger } from '@nest-event-bus/broker';
import { Logger } from '@nestjs/common';

type Context = Readonly<Record<string, unknown>>;

/** Writes log lines to the Nest logger, with their context as JSON. */
export class MessagingLogger implements DriverLogger {
  readonly #logger = new Logger('Messaging');

  debug(message: string, context?: Context): void {
    this.#logger.debug(lineOf(message, context));
  }

  info(message: string, context?: Context): void {
    this.#logger.log(lineOf(message, context));
  }

  warn(message: string, context?: Context): void {
    this.#logger.warn(lineOf(message, context));
  }

  error(message: string, context?: Context): void {
    this.#logger.error(lineOf(message, context));
  }
}

const lineOf = (message: string, context?: Context): string =>
  context ? `${message} ${JSON.stringify(context)}` : message;
