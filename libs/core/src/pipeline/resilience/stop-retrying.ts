import type { Outcome } from '../../model/outcomes/outcome.js';

/**
 * Carries an outcome other than success through the policies, which treat only a thrown error as a
 * failure.
 */
export class StopRetrying extends Error {
  constructor(readonly outcome: Outcome) {
    super(`The calls of the handler ended: ${outcome.kind}.`);
  }
}
