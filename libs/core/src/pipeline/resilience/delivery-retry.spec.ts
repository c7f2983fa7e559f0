import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { aDelivery } from '../../model/outcomes/outcomes.spec-support.js';
import { failedCall } from './delivery-retry.js';
import type { RetryConfig } from './retry-config-factory.js';

const config = { judge: () => 'retryable' } as unknown as RetryConfig;

describe('The elapsed time of a delivery', () => {
  const elapsed = async (given: (runtime: VirtualRuntime) => Partial<Delivery>) => {
    const runtime = new VirtualRuntime();
    const delivery = aDelivery(given(runtime));
    await runtime.advance(300);
    return failedCall({ config, delivery, runtime, error: new Error('no'), call: 1 }).elapsedMs;
  };

  it('comes from the monotonic clock, even if the system clock is set meanwhile', async () => {
    const setForward = (runtime: VirtualRuntime): Partial<Delivery> => ({
      receivedAt: runtime.now() - 3_600_000,
      readySince: runtime.monotonic(),
    });
    expect(await elapsed(setForward)).toBe(300);
  });
});
