import type { Outcome } from '../../model/outcomes/outcome.js';

/**
 * Carries an outcome other than success through the policies, for which only a thrown error is a
 * failure.
 */
export class StopRetrying extends Error {
  constructor(readonly outcome: Outcome) {
    super(`The calls of the handler ended: ${outcome.kind}.`);
  }
}
