import { isNativeError } from 'node:util/types';
import { isOneOf } from '../failures/faults/thrown.js';
import type { Outcome } from '../model/outcomes/outcome.js';

export function failedWith(thrown: unknown): Outcome {
  return { kind: 'failed', reason: 'not-called', error: toError(thrown), attempts: 1 };
}

/** What was thrown, as an error. An object that is none is kept as the cause only: it may carry a payload. */
export function toError(thrown: unknown): Error {
  if (isError(thrown)) return thrown;
  // Nobody waits for a promise that was thrown, and it must not become an unhandled rejection.
  if (isOneOf(thrown, [Promise])) (thrown as Promise<unknown>).catch(() => undefined);
  const what = typeof thrown === 'string' ? `'${thrown}'` : describe(thrown);
  return new Error(`Something was thrown that is not an Error: ${what}.`, { cause: thrown });
}

/** A proxy that does not say what it is, is none: whoever asks it later would get what it throws. */
function isError(thrown: unknown): thrown is Error {
  return isOneOf(thrown, [Error]) || isNativeError(thrown);
}

function describe(thrown: unknown): string {
  return thrown === null ? 'null' : typeof thrown;
}
