import type { BrokerRecord } from '@nest-event-bus/broker';
import type { FailedOutcome } from '../../model/outcomes/outcome.js';
import { LaneDelivery, FIRST_DELIVERY, type DeliveryHistory } from './lane-delivery.js';

describe('the signals of a delivery', () => {
  const delivery = (): LaneDelivery => new LaneDelivery({} as BrokerRecord, FIRST_DELIVERY, 0, 0);

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
    const delivery = new LaneDelivery({} as BrokerRecord, FIRST_DELIVERY, 0, 0);
    if (isOver) delivery.end();
    const told = delivery.whenEnded();
    delivery.end();
    await expect(told).resolves.toBeUndefined();
  });
});

describe('the next delivery of a record that failed', () => {
  it('knows the failure, also where a decision about it could not be carried out at once', () => {
    const failed = (message: string, more: Partial<FailedOutcome> = {}): FailedOutcome => ({
      kind: 'failed',
      error: new Error(message),
      attempts: 3,
      ...more,
    });
    const next = (past: DeliveryHistory, outcome: FailedOutcome) =>
      new LaneDelivery({} as BrokerRecord, past, 0, 0).historyAfter(outcome);
    const waiting = next(FIRST_DELIVERY, failed('no stock', { until: 'decided' }));
    expect(waiting.lastFailure).toMatchObject({ error: { message: 'no stock' }, attempts: 3 });
    const refused = next({ ...waiting, decision: 'dead-letter' }, failed('gone', { attempts: 0 }));
    expect(refused).toMatchObject({ decision: 'dead-letter', calls: 3 });
    expect(refused.lastFailure).toBe(waiting.lastFailure);
    const another = next(waiting, failed('no stock yet'));
    expect(another.lastFailure).toMatchObject({ error: { message: 'no stock yet' } });
    const pendingRouting = failed('no price', { attempts: 0 });
    expect(
      next(another, failed('no such topic', { pendingRouting: pendingRouting })).lastFailure,
    ).toBe(pendingRouting);
  });
});
