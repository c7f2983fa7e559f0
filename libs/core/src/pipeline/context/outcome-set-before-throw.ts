import { errorNameOf } from '@nest-event-bus/broker';
import { HandlerRefusedException } from '../../errors/handler-errors.js';
import { isOneOf } from '../../failures/faults/thrown.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import type { RecordCall } from '../record-call.js';
import { toError } from '../to-error.js';

/**
 * Returns the outcome that the handler chose before it threw, because that outcome has priority
 * over the error; undefined if it chose none.
 */
export function outcomeSetBeforeThrow(
  { context }: Pick<RecordCall, 'context'>,
  thrown: unknown,
): Outcome | undefined {
  const outcome = context.outcomeAfterThrow();
  // No warning for a guard that refuses a record after it has chosen an outcome, because the two do
  // not contradict each other.
  if (outcome && !isOneOf(thrown, [HandlerRefusedException])) {
    const word = outcome.kind === 'failed' ? 'deadLetter()' : 'acknowledge()';
    // The message of the error is not logged, because it may contain secrets.
    const error = errorNameOf(toError(thrown));
    context.log.warn(`The handler threw after ${word}, which decides about its record.`, { error });
  }
  return outcome;
}
