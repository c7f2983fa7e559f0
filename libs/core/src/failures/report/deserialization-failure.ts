import type { DeserializationException } from '../../errors/handler-errors.js';
import type { DeserializationFailure } from '../../model/records/dlt-record.js';
import { UNKNOWN_CLASS } from '../../model/records/tier-history.js';
import { describeError, TEXT_LIMITS, type DescriptionOptions } from './error-description.js';
import { limitedText } from './limited-text.js';

/** What is told of a record that could not be read. The reason only where the whole message is told as it is. */
export function deserializationFailureOf(
  error: DeserializationException,
  { exceptionDetail, redact }: DescriptionOptions,
): DeserializationFailure {
  const { causeClassName = UNKNOWN_CLASS } = describeError(error, { exceptionDetail: 'class' });
  const { format = UNKNOWN_CLASS, reason } = error;
  const isTold = reason !== undefined && exceptionDetail === 'full' && redact === undefined;
  return {
    part: 'value',
    format: limitedText(format, TEXT_LIMITS.className),
    exceptionClass: causeClassName,
    ...(isTold && { reason: limitedText(reason, TEXT_LIMITS.message) }),
  };
}
