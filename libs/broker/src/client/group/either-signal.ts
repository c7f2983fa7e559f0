/**
 * Runs the work with a signal that aborts when one of the two signals aborts. `AbortSignal.any` is
 * not used, because it keeps an entry in both signals for every call, and one of them may exist as
 * long as the session.
 */
export async function withEitherSignal<T>(
  one: AbortSignal,
  other: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const control = new AbortController();
  const signals = [one, other];
  const abort = (): void => control.abort(signals.find(({ aborted }) => aborted)?.reason);
  if (one.aborted || other.aborted) abort();
  for (const signal of signals) signal.addEventListener('abort', abort);
  try {
    return await work(control.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', abort);
  }
}
