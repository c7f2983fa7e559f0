import type { Runtime, Timer } from '../../../runtime/index.js';

/**
 * Runs the work with a signal that aborts some time after the given signal, so that a response that
 * is under way can still arrive.
 */
export async function abortWithGrace<T>(
  runtime: Runtime,
  signal: AbortSignal,
  graceMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const control = new AbortController();
  let timer: Timer | undefined;
  const startTimer = (): void => {
    timer = runtime.setTimer(() => control.abort(signal.reason), graceMs);
  };
  if (signal.aborted) startTimer();
  else signal.addEventListener('abort', startTimer, { once: true });
  try {
    return await work(control.signal);
  } finally {
    timer?.cancel();
    signal.removeEventListener('abort', startTimer);
  }
}
