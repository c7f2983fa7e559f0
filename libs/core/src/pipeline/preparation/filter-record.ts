import type { HandlerDefinition } from '../../discovery/exploring/handler-definition.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { isPromiseLike } from '../and-then.js';
import type { PreparationStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';

const filtered: Outcome = Object.freeze({ kind: 'discarded', reason: 'filtered' });

/** Discards the records that the filter of their handler refuses. undefined if no handler has one. */
export function filterRecord(handlers: readonly HandlerDefinition[]): PreparationStep | undefined {
  return handlers.some(({ filter }) => filter) ? applyFilter : undefined;
}

function applyFilter({ handler: { filter, origin }, record }: RecordCall): Prepared {
  if (!filter) return undefined;
  const verdict: unknown = filter(record);
  if (!isPromiseLike(verdict)) return verdict ? undefined : filtered;
  // The promise has no reader, and it must not become an unhandled rejection.
  verdict.then(undefined, () => undefined);
  throw new TypeError(
    `The filter of ${origin} returned a promise, which would pass every record. Return the result synchronously.`,
  );
}
