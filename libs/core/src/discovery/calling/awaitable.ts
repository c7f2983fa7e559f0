import { defaultIfEmpty, from, isObservable, lastValueFrom } from 'rxjs';

/**
 * Subscribes to an Observable. Without a subscription the Observable would not run, and the call
 * would count as a success.
 */
export function awaitable(result: unknown): unknown {
  if (isObservable(result)) return lastValueFrom(result, { defaultValue: undefined });
  // An async method may resolve to an Observable, too.
  return result instanceof Promise ? result.then(awaitable) : result;
}

/**
 * Adds a default value to an empty Observable, because Nest treats a call as failed if its
 * Observable completes without a value.
 */
export function withDefaultValue(result: unknown): unknown {
  return isObservable(result) ? from(result).pipe(defaultIfEmpty(undefined)) : result;
}
