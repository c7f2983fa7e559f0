import { realRuntime, sleep, type Runtime } from '@nest-event-bus/broker/runtime';

export interface EventuallyOptions {
  /** The time after which `eventually` fails. Default 60 s. */
  readonly timeoutMs?: number;
  /** The awaited state, for the message: "the group to be stable". */
  readonly description?: string;
  /** The time between two attempts. Default 20 ms. */
  readonly intervalMs?: number;
  readonly runtime?: Runtime;
}

export class NotEventuallyError extends Error {
  readonly code = 'NOT_EVENTUALLY';
  readonly retriable = false;

  constructor(description: string, timeoutMs: number, lastAttempt: string, options?: ErrorOptions) {
    super(`Waited ${timeoutMs} ms for ${description}. The last attempt ${lastAttempt}`, options);
    this.name = new.target.name;
  }
}

/**
 * Repeats the condition until its result is not false, null or undefined, and returns that result.
 * A condition that throws, such as a failing `expect`, is repeated as well; its last error is the
 * cause of the failure. A condition that consists of expectations only must return true at its end.
 */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeoutMs = 60_000, description = 'a condition', intervalMs = 20 } = options;
  const runtime = options.runtime ?? realRuntime;
  const deadline = runtime.monotonic() + timeoutMs;
  for (;;) {
    const attempt = await tryOnce(condition);
    if (attempt.kind === 'true') return attempt.value;
    if (runtime.monotonic() >= deadline) {
      throw new NotEventuallyError(description, timeoutMs, attempt.lastAttempt, {
        cause: attempt.cause,
      });
    }
    await sleep(runtime, intervalMs);
  }
}

type Attempt<T> =
  | { readonly kind: 'true'; readonly value: Exclude<T, false | null | undefined> }
  | { readonly kind: 'not-yet'; readonly lastAttempt: string; readonly cause?: unknown };

async function tryOnce<T>(condition: () => T | Promise<T>): Promise<Attempt<T>> {
  try {
    const value = await condition();
    if (value === false || value === null || value === undefined) {
      return { kind: 'not-yet', lastAttempt: `gave ${String(value)}.` };
    }
    return { kind: 'true', value: value as Exclude<T, false | null | undefined> };
  } catch (cause) {
    return { kind: 'not-yet', lastAttempt: `failed: ${String(cause)}`, cause };
  }
}
