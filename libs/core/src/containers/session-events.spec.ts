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
  it('tells a failure once, and its end with its duration', async () => {
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

  it('tells again if the session no longer recovers by itself', () => {
    events.update({ state: 'retrying', error: refused });
    const error = new StaticMemberFencedError('taken');
    events.update({ state: 'failed', error });
    expect(emitted).toMatchObject([
      { name: 'session.failed', isPermanent: false },
      { name: 'session.failed', isPermanent: true },
    ]);
  });

  it('tells nothing of an empty assignment', () => {
    events.onAssigned([]);
    events.onRevoked([], true);
    expect(emitted).toEqual([]);
  });

  it('tells only topic and partition of what was assigned, revoked or lost', () => {
    const given = [{ topic: 'orders', partition: 1, position: 7, committed: null }];
    const partitions = [{ topic: 'orders', partition: 1 }];
    events.onAssigned(given);
    events.onRevoked(given, true);
    expect(emitted).toEqual([
      { name: 'partitions.assigned', ...identity, partitions },
      { name: 'partitions.revoked', ...identity, partitions, isLost: true },
    ]);
  });

  it('tells at which offset a partition cannot be read on', () => {
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
