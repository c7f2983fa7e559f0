import { Deferred, type Runtime } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from '../lanes/lane-delivery.js';

/**
 * Waits for handlers of earlier assignments, so that the order holds. A handler that never ends
 * must not block its partition for ever, so the wait ends at maxPollIntervalMs.
 */
export async function waitForPreviousHandlers(
  runtime: Runtime,
  handlers: readonly LaneDelivery[],
  maxPollIntervalMs: number,
): Promise<void> {
  const now = runtime.monotonic();
  const since = Math.max(...handlers.map(({ startedAt = now }) => startedAt));
  const tooLong = new Deferred();
  // The wait may take minutes, and must not keep the process alive.
  const timer = runtime.setTimer(() => tooLong.resolve(), since + maxPollIntervalMs - now, {
    background: true,
  });
  const ended = Promise.all(handlers.map((delivery) => delivery.whenEnded()));
  await Promise.race([ended, tooLong.promise]);
  timer.cancel();
}
