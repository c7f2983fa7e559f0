import { asError } from '../../errors/as-error.js';
import type { Outcome } from '../../model/outcomes/outcome.js';

export function isPending<T extends object>(answer: T | PromiseLike<T>): answer is PromiseLike<T> {
  return typeof (answer as Partial<PromiseLike<T>> | undefined)?.then === 'function';
}

const KINDS: ReadonlySet<unknown> = new Set<Outcome['kind']>([
  'succeeded',
  'discarded',
  'retried',
  'dead-lettered',
  'failed',
  'handed-back',
]);

/**
 * Checks the kind of an outcome. A processor may return anything, and only a known kind may move
 * the watermark.
 */
export function isOutcome(outcome: Outcome | undefined): outcome is Outcome {
  return outcome?.kind === 'succeeded' || KINDS.has(outcome?.kind);
}

export function missingOutcome(): Outcome {
  const error = new TypeError(
    'The processor gave no outcome for the record: it counts as failed. This is a bug of the event bus: please report it.',
  );
  return redelivered(error);
}

export function failedOutcome(thrown: unknown): Outcome {
  return redelivered(asError(thrown));
}

/**
 * Returns a failure that is delivered again. The processor itself is broken, so no record may be
 * dead-lettered because of it.
 */
function redelivered(error: Error): Outcome {
  return { kind: 'failed', reason: 'redeliver', error, attempts: 1 };
}

/** Returns the function that wants to know when the record is delivered again. */
export function redeliveryListenerOf(
  outcome: Outcome,
): ((inMs: number | undefined) => void) | undefined {
  return 'onRedelivery' in outcome ? outcome.onRedelivery : undefined;
}
