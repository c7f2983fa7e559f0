import type { BrokerRecord } from '@nest-event-bus/broker';
import { VirtualRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import { FIRST_DELIVERY } from '../../model/outcomes/delivery-history.js';
import { DueWait } from './due-wait.js';
import { LaneDelivery } from './lane-delivery.js';

describe('DueWait', () => {
  const DELAY_MS = 10_000;

  /** A runtime whose wall clock can be set. */
  function clockThatIsSet() {
    const virtual = new VirtualRuntime({ startAt: 1_000_000 });
    const clock = { aheadMs: 0 };
    const runtime: Runtime = Object.create(virtual, {
      now: { value: () => virtual.now() + clock.aheadMs },
      monotonic: { value: () => virtual.monotonic() },
      setTimer: { value: virtual.setTimer.bind(virtual) },
    });
    return { virtual, clock, runtime };
  }

  it.each([0, -86_400_000, -5_000, 3_000])(
    'waits no longer than the delay if the clock is set by %d ms meanwhile',
    async (changeMs) => {
      const { virtual, clock, runtime } = clockThatIsSet();
      const record = { topic: 't', partition: 0, offset: 0 } as BrokerRecord;
      const delivery = new LaneDelivery(record, FIRST_DELIVERY, runtime.now(), 0, undefined);
      const start = virtual.now();
      const wait = new DueWait(
        runtime,
        (_, readAt) => readAt + DELAY_MS,
        () => undefined,
      );
      let isDue = wait.isDue(delivery);
      clock.aheadMs = changeMs;
      while (!isDue) {
        while (wait.isWaiting) await virtual.advance(1);
        isDue = wait.isDue(delivery);
      }
      const waitedMs = virtual.now() - start;
      expect(waitedMs).toBeLessThanOrEqual(DELAY_MS + 2);
      expect(delivery.receivedAt).toBeLessThanOrEqual(start + DELAY_MS + Math.max(0, changeMs));
    },
  );
});
