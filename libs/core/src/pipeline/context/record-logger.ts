import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';

type Context = Readonly<Record<string, unknown>>;

/**
 * Adds the position of the record to each log line. Offsets are decimal text, which every reader
 * keeps exact.
 */
export class RecordLogger implements DriverLogger {
  readonly #logger: DriverLogger;
  readonly #position: Context;

  constructor(logger: DriverLogger, binding: string, record: BrokerRecord) {
    const { topic, partition, offset } = record;
    this.#logger = logger;
    this.#position = { binding, topic, partition, offset: String(offset) };
  }

  debug(message: string, context?: Context): void {
    this.#logger.debug(message, { ...context, ...this.#position });
  }

  info(message: string, context?: Context): void {
    this.#logger.info(message, { ...context, ...this.#position });
  }

  warn(message: string, context?: Context): void {
    this.#logger.warn(message, { ...context, ...this.#position });
  }

  error(message: string, context?: Context): void {
    this.#logger.error(message, { ...context, ...this.#position });
  }
}
