import {
  AuthorizationError,
  LogTruncatedError,
  StaticMemberFencedError,
} from '@nest-event-bus/broker';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { EventBusEventName } from '../model/events/event-bus-events.js';
import { SessionEvents } from './session-events.js';

const identity = { session: 'eventbus-orders-0', groupId: 'shop', tier: 0 };
const refused = new AuthorizationError('no');

let runtime: VirtualRuntime;
let emitted: { readonly name: EventBusEventName }[];
let events: SessionEvents;

beforeEach(() => {
  runtime = new VirtualRuntime();
  emitted = [];
  const emit = (name: EventBusEventName, details: object): void =>
    void emitted.push({ name, ...details });
  events = new SessionEvents(identity, { wants: () => true, emit }, runtime);
});

describe('SessionEvents', () => {
  it('emits one event for a failure, and one with the duration when the session has recovered', async () => {
    events.update({ state: 'joining' });
    events.update({ state: 'joined' });
    events.update({ state: 'retrying', error: refused });
    events.update({ state: 'retrying', error: refused });
    await runtime.advance(700);
    events.update({ state: 'joined' });
    events.update({ state: 'joined' });
    expect(emitted).toEqual([
      {
        name: 'session.failed',
        ...identity,
        exceptionClass: 'AuthorizationError',
        isPermanent: false,
      },
      { name: 'session.recovered', ...identity, failedForMs: 700 },
    ]);
  });

  it('emits another event if the session no longer recovers by itself', () => {
    events.update({ state: 'retrying', error: refused });
    const error = new StaticMemberFencedError('taken');
    events.update({ state: 'failed', error });
    expect(emitted).toMatchObject([
      { name: 'session.failed', isPermanent: false },
      { name: 'session.failed', isPermanent: true },
    ]);
  });

  it('emits no event for an empty assignment', () => {
    events.onAssigned([]);
    events.onRevoked([], true);
    expect(emitted).toEqual([]);
  });

  it('emits only topic and partition of the partitions that were assigned, revoked or lost', () => {
    const given = [{ topic: 'orders', partition: 1, position: 7, committed: null }];
    const partitions = [{ topic: 'orders', partition: 1 }];
    events.onAssigned(given);
    events.onRevoked(given, true);
    expect(emitted).toEqual([
      { name: 'partitions.assigned', ...identity, partitions },
      { name: 'partitions.revoked', ...identity, partitions, isLost: true },
    ]);
  });

  it('emits the offset at which a partition cannot be read any further', () => {
    const error = new LogTruncatedError('orders', 1, 7, 5, 'The log is shorter.');
    events.onStopped(error);
    expect(emitted).toEqual([
      {
        name: 'partition.stopped',
        ...identity,
        topic: 'orders',
        partition: 1,
        offset: String(error.offset),
        code: error.code,
      },
    ]);
  });
});
