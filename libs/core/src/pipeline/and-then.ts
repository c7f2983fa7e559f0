/** Returns whether `await` would wait for the value. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/**
 * Calls `proceed` at once with a value, and later with what a promise resolves to. A record whose
 * handler returns no promise therefore costs no promise anywhere in the pipeline. `context` is
 * passed on to `proceed`, so that a step can keep one function and creates no closure per record.
 */
export function andThen<T, C, R>(
  value: T | Promise<T>,
  proceed: (value: T, context: C) => R | Promise<R>,
  context: C,
): R | Promise<R> {
  return value instanceof Promise
    ? value.then((resolved) => proceed(resolved, context))
    : proceed(value, context);
}
