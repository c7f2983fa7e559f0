import { isOneOf } from '../../failures/faults/thrown.js';
import type { Outcome } from '../../model/outcomes/outcome.js';

/**
 * Carries an outcome other than success through the policies, which treat only a thrown value as a
 * failure. The class is no Error, because capturing a stack for each failed delivery would cost
 * more than the retry policy itself.
 */
export class StopRetrying {
  constructor(readonly outcome: Outcome) {}
}

/** A proxy that throws when it is inspected is an error of the handler. */
export const isStopRetrying = (thrown: unknown): thrown is StopRetrying =>
  isOneOf(thrown, [StopRetrying]);
