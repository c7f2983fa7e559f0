import type { DriverLogger } from '@nest-event-bus/broker';

/** Logs about one record: each line has the position of the record, and never its payload. */
export interface RecordLog extends DriverLogger {
  /**
   * Returns a log whose lines have these fields as well: `log.with({ orderId })`. Fields of the
   * record cannot be replaced.
   */
  with(fields: Readonly<Record<string, unknown>>): RecordLog;
  /**
   * Calls the function, and returns its result. Lines that other loggers write during the call and
   * its promises have the fields of this log, if `logContext` is enabled. A batch handler uses it
   * for each of its records.
   */
  run<T>(work: () => T): T;
}
