import { Deferred, type Runtime } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from '../lanes/lane-delivery.js';

/** Order lasts over an assignment too; but a handler that never ends must not hold its partition for ever. */
export async function waitForPreviousHandlers(
  runtime: Runtime,
  handlers: readonly LaneDelivery[],
  maxPollIntervalMs: number,
): Promise<void> {
  const now = runtime.monotonic();
  const since = Math.max(...handlers.map(({ startedAt = now }) => startedAt));
  const tooLong = new Deferred();
  // It may be minutes: the process is not kept alive for it.
  const timer = runtime.setTimer(() => tooLong.resolve(), since + maxPollIntervalMs - now, {
    background: true,
  });
  const ended = Promise.all(handlers.map((delivery) => delivery.whenEnded()));
  await Promise.race([ended, tooLong.promise]);
  timer.cancel();
}
