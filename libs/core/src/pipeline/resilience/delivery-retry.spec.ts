import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { aDelivery } from '../../model/outcomes/outcomes.spec-support.js';
import { failedCall } from './delivery-retry.js';
import type { RetryConfig } from './retry-config-factory.js';

const config = { judge: () => 'retryable' } as unknown as RetryConfig;

describe('the time that a delivery has taken', () => {
  const elapsed = async (given: (runtime: VirtualRuntime) => Partial<Delivery>) => {
    const runtime = new VirtualRuntime();
    const delivery = aDelivery(given(runtime));
    await runtime.advance(300);
    return failedCall({ config, delivery, runtime, error: new Error('no'), call: 1 }).elapsedMs;
  };

  it('is that of the monotonic clock, however the other one was set meanwhile', async () => {
    const setForward = (runtime: VirtualRuntime): Partial<Delivery> => ({
      receivedAt: runtime.now() - 3_600_000,
      readySince: runtime.monotonic(),
    });
    expect(await elapsed(setForward)).toBe(300);
  });
});
