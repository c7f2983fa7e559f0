import { isNativeError } from 'node:util/types';
import { isOneOf } from '../failures/faults/thrown.js';
import type { Outcome } from '../model/outcomes/outcome.js';

export function failedWith(thrown: unknown): Outcome {
  return { kind: 'failed', reason: 'not-called', error: toError(thrown), attempts: 1 };
}

/**
 * Returns an error for any thrown value. Another object becomes only the cause, because its text
 * may contain a payload.
 */
export function toError(thrown: unknown): Error {
  if (isError(thrown)) return thrown;
  // Nobody awaits the thrown promise, so its rejection is ignored.
  if (isOneOf(thrown, [Promise])) (thrown as Promise<unknown>).catch(() => undefined);
  const what = typeof thrown === 'string' ? `'${thrown}'` : describe(thrown);
  return new Error(`Something was thrown that is not an Error: ${what}.`, { cause: thrown });
}

/**
 * Returns whether the value is an error. A proxy that throws when it is inspected is not treated as
 * one, because it would throw again later.
 */
function isError(thrown: unknown): thrown is Error {
  return isOneOf(thrown, [Error]) || isNativeError(thrown);
}

function describe(thrown: unknown): string {
  return thrown === null ? 'null' : typeof thrown;
}
