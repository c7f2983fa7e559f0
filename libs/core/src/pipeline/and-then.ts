/** Returns whether `await` would wait for the value. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/**
 * Calls `proceed` at once with a value, and later with the result of a promise. If a handler
 * returns no promise, no step of the pipeline creates one for its record. `context` is passed on to
 * `proceed`, so that a step needs no closure per record.
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
