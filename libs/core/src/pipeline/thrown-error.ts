import { isNativeError } from 'node:util/types';
import type { Outcome } from '../model/outcome.js';

export function failedWith(thrown: unknown): Outcome {
  return { kind: 'failed', error: thrownError(thrown) };
}

/** What was thrown, as an error. An object that is none is kept as the cause only: it may carry a payload. */
export function thrownError(thrown: unknown): Error {
  if (thrown instanceof Error || isNativeError(thrown)) return thrown;
  const what = typeof thrown === 'string' ? `'${thrown}'` : describe(thrown);
  return new Error(`Something was thrown that is not an Error: ${what}.`, { cause: thrown });
}

function describe(thrown: unknown): string {
  return thrown === null ? 'null' : typeof thrown;
}
