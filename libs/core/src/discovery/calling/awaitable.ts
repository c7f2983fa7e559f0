import { defaultIfEmpty, from, isObservable, lastValueFrom } from 'rxjs';

/** An Observable that nobody subscribes to does nothing, and that would pass for success. */
export function awaitable(result: unknown): unknown {
  if (isObservable(result)) return lastValueFrom(result, { defaultValue: undefined });
  // An async method may give one as well.
  return result instanceof Promise ? result.then(awaitable) : result;
}

/** For who subscribes himself: an Observable that completes has given a value. */
export function failWhenEmpty(result: unknown): unknown {
  return isObservable(result) ? from(result).pipe(defaultIfEmpty(undefined)) : result;
}
