import { ConnectionError, UnknownTopicError } from '@nest-event-bus/broker';
import type { ConsumingStatus } from '../../consuming/session/consuming-session.js';
import { aggregate, type ContainerCondition, type SessionView } from './container-status.js';

const missing = new UnknownTopicError('orders.events');
const refused = new ConnectionError('refused');

function view(status: Partial<ConsumingStatus>, failure?: Error): SessionView {
  return {
    status: {
      state: 'joined',
      since: 100,
      assignment: [],
      pauses: [],
      partitionPauses: [],
      runningHandlers: 0,
      stuckHandlers: 0,
      ...status,
    },
    failure: failure && { error: failure, since: 7 },
  };
}

const stateOf = (...views: readonly SessionView[]): ContainerCondition => aggregate(views, 1).state;

describe('the status of a container', () => {
  it('translates the status of its only session into the states of a container', () => {
    expect(stateOf()).toBe('stopped');
    expect(stateOf(view({ state: 'idle' }))).toBe('starting');
    expect(stateOf(view({ state: 'joining' }))).toBe('starting');
    expect(stateOf(view({ state: 'joined' }))).toBe('joined');
    expect(stateOf(view({ state: 'draining' }))).toBe('draining');
    expect(stateOf(view({ state: 'closed' }))).toBe('stopped');
    expect(stateOf(view({ state: 'retrying', error: refused }))).toBe('retrying');
    expect(stateOf(view({ state: 'retrying', error: missing }))).toBe('topic-missing');
    expect(stateOf(view({ state: 'joining' }, refused))).toBe('failed');
    expect(stateOf(view({ state: 'failed', error: refused }))).toBe('failed');
  });

  it('is the status of its worst session, with the error of that session', () => {
    const joined = view({});
    const joining = view({ state: 'joining' });
    const waiting = view({ state: 'retrying', error: missing });
    const cut = view({ state: 'retrying', error: refused });
    expect(stateOf(joined, joining)).toBe('starting');
    expect(stateOf(joined, waiting, joining)).toBe('topic-missing');
    expect(aggregate([waiting, cut, joined], 1)).toMatchObject({
      state: 'retrying',
      error: refused,
    });
    expect(aggregate([cut, view({}, missing)], 1)).toMatchObject({
      state: 'failed',
      error: missing,
    });
  });

  it('has in `since` the time of the first error, else of the last join, else of the stop', () => {
    const retrying = (since: number): SessionView =>
      view({ state: 'retrying', error: refused, since });
    expect(aggregate([retrying(30), retrying(20), view({ since: 10 })], 1).since).toBe(20);
    expect(aggregate([view({ since: 30 }), view({ since: 20 })], 1).since).toBe(30);
    expect(aggregate([], 1).since).toBe(1);
  });

  it('lists the assignments, pauses and handlers of all its sessions', () => {
    const at = (partition: number) => ({ topic: 'orders.events', partition });
    const status = aggregate(
      [
        view({
          assignment: [at(0)],
          pauses: ['operator'],
          runningHandlers: 2,
          oldestHandlerSince: 9,
        }),
        view({
          assignment: [at(1)],
          pauses: ['operator', 'circuit'],
          partitionPauses: [{ ...at(1), reasons: ['backoff'], error: refused }],
          runningHandlers: 1,
          oldestHandlerSince: 5,
        }),
        view({}),
      ],
      1,
    );
    expect(status).toMatchObject({
      assignment: [at(0), at(1)],
      pauses: ['operator', 'circuit'],
      partitionPauses: [{ partition: 1, reasons: ['backoff'] }],
      runningHandlers: 3,
      oldestHandlerSince: 5,
    });
  });
});
