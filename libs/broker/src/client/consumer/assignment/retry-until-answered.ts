import { Backoff, sleep, type Runtime } from '../../../runtime/index.js';
import type { ConsumerStatus } from '../consumer-status.js';

interface RetryContext {
  readonly runtime: Runtime;
  readonly status: ConsumerStatus;
  /** The object under which the status keeps the errors of this request. */
  readonly source: object;
  readonly signal: AbortSignal;
}

const BACKOFF = { initialMs: 100, maxMs: 5_000 };

/** Retries until the request succeeds. Returns undefined if the signal aborts first. */
export async function retryUntilAnswered<T>(
  { runtime, status, source, signal }: RetryContext,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const backoff = new Backoff(runtime, BACKOFF);
  while (!signal.aborted) {
    try {
      const answer = await ask(signal);
      status.clearErrors(source);
      return answer;
    } catch (error) {
      if (signal.aborted) return undefined;
      status.reportFetchError(source, error as Error);
      const hasPaused = await sleep(runtime, backoff.next(), signal).then(
        () => true,
        () => false,
      );
      // If the wait fails, the loop would retry without a pause. It ends instead, and the error
      // stays in the status.
      if (!hasPaused) return undefined;
    }
  }
  return undefined;
}
