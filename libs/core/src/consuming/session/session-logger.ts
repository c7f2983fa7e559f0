import type { DriverLogger } from '@nest-event-bus/broker';

type Context = Readonly<Record<string, unknown>>;

/** Adds the container and the session to every log line. */
export function withContext(logger: DriverLogger, context: Context): DriverLogger {
  const joined = (more?: Context): Context => ({ ...context, ...more });
  return {
    debug: (message, more) => logger.debug(message, joined(more)),
    info: (message, more) => logger.info(message, joined(more)),
    warn: (message, more) => logger.warn(message, joined(more)),
    error: (message, more) => logger.error(message, joined(more)),
  };
}
