import { Deferred, type Runtime } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from '../lanes/lane-delivery.js';

/**
 * Waits for handlers of earlier assignments, so that records stay in order. The wait ends at
 * maxPollIntervalMs, because a handler that never ends must not block its partition for ever.
 */
export async function waitForPreviousHandlers(
  runtime: Runtime,
  handlers: readonly LaneDelivery[],
  maxPollIntervalMs: number,
): Promise<void> {
  const now = runtime.monotonic();
  const since = Math.max(...handlers.map(({ startedAt = now }) => startedAt));
  const tooLong = new Deferred();
  // The timer does not keep the process alive, because the wait may take minutes.
  const timer = runtime.setTimer(() => tooLong.resolve(), since + maxPollIntervalMs - now, {
    background: true,
  });
  const ended = Promise.all(handlers.map((delivery) => delivery.whenEnded()));
  await Promise.race([ended, tooLong.promise]);
  timer.cancel();
}
