import {
  BatchProcessingException,
  DeserializationException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import { isOneOf, read } from './thrown.js';

/** What a handler of batches wraps to say where it stopped is no error of its own. */
export function unwrapBatchError(error: Error): Error {
  if (!isOneOf(error, [BatchProcessingException])) return error;
  const cause = read(error, 'cause');
  return isOneOf(cause, [Error]) ? (cause as Error) : error;
}

const BAD_MESSAGES = [
  DeserializationException,
  PayloadValidationException,
  UnknownEventTypeException,
] as const;

/** The record never reached its handler, and never will: no list of retries has a say in that. */
export function isBadMessage(error: unknown): boolean {
  return isOneOf(error, BAD_MESSAGES);
}
