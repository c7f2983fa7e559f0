import type { Runtime } from './runtime.js';

/**
 * A promise that can be resolved from outside. Its rejection is never reported as unhandled,
 * because a later await receives it.
 */
export class Deferred<T = void> {
  readonly promise: Promise<T>;
  resolve!: (value: T | PromiseLike<T>) => void;
  reject!: (reason: unknown) => void;

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.promise.catch(() => undefined);
  }
}

/** Waits, and rejects with the signal's reason as soon as it aborts. */
export function sleep(
  runtime: Runtime,
  delayMs: number,
  signal?: AbortSignal,
  options: { readonly background?: boolean } = {},
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = runtime.setTimer(
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      delayMs,
      options,
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Returns the promise's result, or rejects with `onTimeout()` after the timeout. A late rejection
 * is never reported as unhandled.
 */
export function within<T>(
  runtime: Runtime,
  timeoutMs: number,
  promise: Promise<T>,
  onTimeout: () => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = runtime.setTimer(() => reject(onTimeout()), timeoutMs);
    promise.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}

/** Returns whether the promise resolves in time. Never rejects. */
export function resolvesWithin(
  runtime: Runtime,
  timeoutMs: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  return within(runtime, timeoutMs, promise, () => new Error('late')).then(
    () => true,
    () => false,
  );
}

/** Returns the promise's result, or rejects with the signal's reason as soon as it aborts. */
export function abortable<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return promise;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) {
      promise.catch(() => undefined);
      return onAbort();
    }
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
