import { isObservable, lastValueFrom } from 'rxjs';

/** An Observable that nobody subscribes to does nothing, and that would pass for success. */
export function awaitable(result: unknown): unknown {
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}
