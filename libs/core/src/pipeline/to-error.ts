import { isNativeError } from 'node:util/types';
import { isOneOf } from '../failures/faults/thrown.js';
import type { Outcome } from '../model/outcomes/outcome.js';

export function failedWith(thrown: unknown): Outcome {
  return { kind: 'failed', reason: 'not-called', error: toError(thrown), attempts: 1 };
}

/**
 * Returns an error for whatever was thrown. Another object only becomes the cause, because it may
 * contain a payload.
 */
export function toError(thrown: unknown): Error {
  if (isError(thrown)) return thrown;
  // A thrown promise has no reader, and it must not become an unhandled rejection.
  if (isOneOf(thrown, [Promise])) (thrown as Promise<unknown>).catch(() => undefined);
  const what = typeof thrown === 'string' ? `'${thrown}'` : describe(thrown);
  return new Error(`Something was thrown that is not an Error: ${what}.`, { cause: thrown });
}

/**
 * Returns whether the value is an error. A proxy that throws when it is inspected counts as none,
 * because it would throw again later.
 */
function isError(thrown: unknown): thrown is Error {
  return isOneOf(thrown, [Error]) || isNativeError(thrown);
}

function describe(thrown: unknown): string {
  return thrown === null ? 'null' : typeof thrown;
}
