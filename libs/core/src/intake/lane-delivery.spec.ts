import type { BrokerRecord } from '@nest-event-bus/broker';
import { LaneDelivery, NO_PAST } from './lane-delivery.js';

describe('the signals of a delivery', () => {
  const delivery = (): LaneDelivery => new LaneDelivery({} as BrokerRecord, NO_PAST, 0, 0);

  it('are not made for a handler that does not ask', () => {
    const made = jest.spyOn(globalThis, 'AbortController');
    delivery().abort(new Error('over'));
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();
  });

  it('tell who asks late, too', () => {
    const aborted = delivery();
    const reason = new Error('over');
    aborted.abort(reason);
    expect([aborted.signal.reason, aborted.waitSignal.reason]).toEqual([reason, reason]);
  });

  it('end waits before they end the work', () => {
    const running = delivery();
    const { signal, waitSignal } = running;
    running.abortWaits(new Error('paused'));
    expect([signal.aborted, waitSignal.aborted]).toEqual([false, true]);
    running.abort(new Error('lost'));
    expect(signal.aborted).toBe(true);
    expect(running.signal).toBe(signal);
  });
});
