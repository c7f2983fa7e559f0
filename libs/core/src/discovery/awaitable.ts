import { defaultIfEmpty, from, isObservable, lastValueFrom } from 'rxjs';

/** An Observable that nobody subscribes to does nothing, and that would pass for success. */
export function awaitable(result: unknown): unknown {
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}

/** For who subscribes himself: an Observable that completes has given a value. */
export function neverEmpty(result: unknown): unknown {
  return isObservable(result) ? from(result).pipe(defaultIfEmpty(undefined)) : result;
}
