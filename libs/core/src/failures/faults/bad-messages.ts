import {
  BatchProcessingException,
  DeserializationException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import { isOneOf, read } from './thrown.js';

/** Unwraps the BatchProcessingException in which a batch handler names the failed record. */
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

/** The record can never reach its handler. The lists of `retry` do not apply to it. */
export function isBadMessage(error: unknown): boolean {
  return isOneOf(error, BAD_MESSAGES);
}
