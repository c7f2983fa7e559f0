import { foreignErrorReason } from '@nest-event-bus/broker';
import { isOwnError } from '../event-bus-exception.js';

/**
 * Returns what a message, a log line or health may say about an error without the options of a
 * binding. Errors of the bus and its drivers say what their message says, because it never quotes a
 * payload or a secret. Of all other errors only the name and the code are said.
 */
export function reasonOf(thrown: unknown): string {
  return isOwnError(thrown) ? thrown.message : foreignErrorReason(thrown);
}
