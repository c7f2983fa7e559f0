import { realRuntime, sleep, type Runtime } from '@nest-event-bus/broker/runtime';

export interface EventuallyOptions {
  /** Default 10 s. */
  readonly timeoutMs?: number;
  /** What is awaited, for the message: "the group to be stable". */
  readonly description?: string;
  /** Default 20 ms. */
  readonly intervalMs?: number;
  readonly runtime?: Runtime;
}

export class NotEventuallyError extends Error {
  readonly code = 'NOT_EVENTUALLY';
  readonly retriable = false;

  constructor(description: string, timeoutMs: number, lastTry: string, options?: ErrorOptions) {
    super(`Waited ${timeoutMs} ms in vain for ${description}. The last try ${lastTry}`, options);
    this.name = new.target.name;
  }
}

/**
 * Tries until the condition gives something that is neither false, null nor undefined, and gives that back.
 * A condition that throws (an `expect`, say) has not come true yet; its last error is the cause of the failure.
 * One that consists of expectations only must return true at its end.
 */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeoutMs = 10_000, description = 'a condition', intervalMs = 20 } = options;
  const runtime = options.runtime ?? realRuntime;
  const deadline = runtime.monotonic() + timeoutMs;
  for (;;) {
    const attempt = await tryOnce(condition);
    if (attempt.kind === 'true') return attempt.value;
    if (runtime.monotonic() >= deadline) {
      throw new NotEventuallyError(description, timeoutMs, attempt.lastTry, {
        cause: attempt.cause,
      });
    }
    await sleep(runtime, intervalMs);
  }
}

type Attempt<T> =
  | { readonly kind: 'true'; readonly value: Exclude<T, false | null | undefined> }
  | { readonly kind: 'not-yet'; readonly lastTry: string; readonly cause?: unknown };

async function tryOnce<T>(condition: () => T | Promise<T>): Promise<Attempt<T>> {
  try {
    const value = await condition();
    if (value === false || value === null || value === undefined) {
      return { kind: 'not-yet', lastTry: `gave ${String(value)}.` };
    }
    return { kind: 'true', value: value as Exclude<T, false | null | undefined> };
  } catch (cause) {
    return { kind: 'not-yet', lastTry: `failed: ${String(cause)}`, cause };
  }
}
