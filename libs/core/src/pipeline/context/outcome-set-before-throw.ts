import { HandlerRefusedException } from '../../errors/handler-errors.js';
import { read, textOf } from '../../failures/faults/thrown.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import type { RecordCall } from '../record-call.js';
import { toError } from '../to-error.js';

/**
 * Returns the outcome that the handler chose before it threw, which counts more than the error.
 * undefined if it chose none.
 */
export function outcomeSetBeforeThrow(
  { context }: Pick<RecordCall, 'context'>,
  thrown: unknown,
): Outcome | undefined {
  const outcome = context.outcomeAfterThrow();
  // A guard that refuses a record, and says what happens to it, contradicts nobody.
  if (outcome && !(thrown instanceof HandlerRefusedException)) {
    const word = outcome.kind === 'failed' ? 'deadLetter()' : 'acknowledge()';
    // The message of the error is left out: it may contain what no log should.
    const error = textOf(read(toError(thrown), 'name'));
    context.log.warn(`The handler threw after ${word}, which decides about its record.`, { error });
  }
  return outcome;
}
