import type { BrokerRecord } from '@nest-event-bus/broker';
import { FIRST_DELIVERY } from '../../model/outcomes/delivery-history.js';
import { LaneDelivery } from './lane-delivery.js';

describe('The abort signals of LaneDelivery', () => {
  const delivery = (): LaneDelivery =>
    new LaneDelivery({} as BrokerRecord, FIRST_DELIVERY, 0, 0, undefined);

  it('are created only for a handler that reads them', () => {
    const made = jest.spyOn(globalThis, 'AbortController');
    delivery().abort(new Error('over'));
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();
  });

  it('are aborted already for a handler that reads them late', () => {
    const aborted = delivery();
    const reason = new Error('over');
    aborted.abort(reason);
    expect([aborted.signal.reason, aborted.waitSignal.reason]).toEqual([reason, reason]);
  });

  it('abort the waits before the work', () => {
    const running = delivery();
    const { signal, waitSignal } = running;
    running.abortWaits(new Error('paused'));
    expect([signal.aborted, waitSignal.aborted]).toEqual([false, true]);
    running.abort(new Error('lost'));
    expect(signal.aborted).toBe(true);
    expect(running.signal).toBe(signal);
  });
});

describe('LaneDelivery.whenEnded()', () => {
  it.each([
    ['before', true],
    ['after', false],
  ])('resolves if the delivery ends %s the call', async (_, isOver) => {
    const delivery = new LaneDelivery({} as BrokerRecord, FIRST_DELIVERY, 0, 0, undefined);
    if (isOver) delivery.end();
    const told = delivery.whenEnded();
    delivery.end();
    await expect(told).resolves.toBeUndefined();
  });
});
