import { defaultIfEmpty, from, isObservable, lastValueFrom } from 'rxjs';

/**
 * Subscribes to an Observable. Without a subscription it does nothing, and the call would count as
 * a success.
 */
export function awaitable(result: unknown): unknown {
  if (isObservable(result)) return lastValueFrom(result, { defaultValue: undefined });
  // An async method may resolve to an Observable, too.
  return result instanceof Promise ? result.then(awaitable) : result;
}

/** Adds a value to an empty Observable, because Nest fails a call whose Observable completes without one. */
export function withDefaultValue(result: unknown): unknown {
  return isObservable(result) ? from(result).pipe(defaultIfEmpty(undefined)) : result;
}
