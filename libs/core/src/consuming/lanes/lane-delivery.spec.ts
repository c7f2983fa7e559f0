import type { BrokerRecord } from '@nest-event-bus/broker';
import { FIRST_DELIVERY } from '../../model/outcomes/delivery-history.js';
import { LaneDelivery } from './lane-delivery.js';

describe('the signals of a delivery', () => {
  const delivery = (): LaneDelivery =>
    new LaneDelivery({} as BrokerRecord, FIRST_DELIVERY, 0, 0, undefined);

  it('are not created for a handler that does not use them', () => {
    const made = jest.spyOn(globalThis, 'AbortController');
    delivery().abort(new Error('over'));
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();
  });

  it('are aborted, too, if they are first used after the abort', () => {
    const aborted = delivery();
    const reason = new Error('over');
    aborted.abort(reason);
    expect([aborted.signal.reason, aborted.waitSignal.reason]).toEqual([reason, reason]);
  });

  it('end waits before they abort the handler', () => {
    const running = delivery();
    const { signal, waitSignal } = running;
    running.abortWaits(new Error('paused'));
    expect([signal.aborted, waitSignal.aborted]).toEqual([false, true]);
    running.abort(new Error('lost'));
    expect(signal.aborted).toBe(true);
    expect(running.signal).toBe(signal);
  });
});

describe('the end of a delivery', () => {
  it.each([
    ['before', true],
    ['after', false],
  ])('resolves whenEnded, if that is called %s the end', async (_, isOver) => {
    const delivery = new LaneDelivery({} as BrokerRecord, FIRST_DELIVERY, 0, 0, undefined);
    if (isOver) delivery.end();
    const told = delivery.whenEnded();
    delivery.end();
    await expect(told).resolves.toBeUndefined();
  });
});
