import { error, log, warn } from 'node:console';

/** Takes log lines. Nest's Logger and console fit. */
export interface OutboxLogger {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
  /** Takes entries of the severity SEVERE. Without it, they go to `error`. */
  fatal?(message: string): void;
}

export const consoleLogger: OutboxLogger = Object.freeze({
  log: (message: string) => log(message),
  warn: (message: string) => warn(message),
  error: (message: string) => error(message),
});

export function logSevere(logger: OutboxLogger, message: string): void {
  if (logger.fatal) logger.fatal(message);
  else logger.error(message);
}
