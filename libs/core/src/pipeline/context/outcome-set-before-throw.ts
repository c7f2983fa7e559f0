import { HandlerRefusedException } from '../../errors/handler-errors.js';
import { read, textOf } from '../../failures/faults/thrown.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import type { RecordCall } from '../record-call.js';
import { toError } from '../to-error.js';

/** What the handler said of its record counts more than what it threw after it. undefined: it said nothing. */
export function outcomeSetBeforeThrow(
  { context }: Pick<RecordCall, 'context'>,
  thrown: unknown,
): Outcome | undefined {
  const outcome = context.outcomeAfterThrow();
  // Whoever keeps a record from its handler, and says what becomes of it, has contradicted nobody.
  if (outcome && !(thrown instanceof HandlerRefusedException)) {
    const word = outcome.kind === 'failed' ? 'deadLetter()' : 'acknowledge()';
    // Not the message, which may hold what no log should.
    const error = textOf(read(toError(thrown), 'name'));
    context.log.warn(`The handler threw after ${word}, which decides about its record.`, { error });
  }
  return outcome;
}
