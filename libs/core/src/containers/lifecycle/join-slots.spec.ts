import { ClosedError } from '@nest-event-bus/broker';
import { Deferred, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ConsumingSessionOptions } from '../../consuming/session/consuming-session.js';
import { FakeSession, type SessionScript } from '../fake-sessions.spec-support.js';
import { JoinSlots } from './join-slots.js';

const runtime = new VirtualRuntime();

function session(script: SessionScript = {}): FakeSession {
  const options = { containerId: 'eventbus-orders', sessionIndex: 0, runtime };
  return new FakeSession(options as unknown as ConsumingSessionOptions, script);
}

const untilEnd = (): AbortSignal => new AbortController().signal;

function joinAll(slots: JoinSlots, sessions: readonly FakeSession[]): void {
  for (const one of sessions) void slots.join(one, untilEnd()).catch(() => undefined);
}

const startedAmong = (sessions: readonly FakeSession[]): number =>
  sessions.filter(({ wasStarted }) => wasStarted).length;

describe('JoinSlots', () => {
  it('lets no more sessions join at the same time than there are slots, in turn', async () => {
    const slots = new JoinSlots(runtime, () => 2);
    const gates = [0, 1, 2, 3].map(() => new Deferred());
    const sessions = gates.map(({ promise }) => session({ joins: promise }));
    joinAll(slots, sessions);
    await runtime.settle();
    expect(sessions.map(({ wasStarted }) => wasStarted)).toEqual([true, true, false, false]);
    gates[1]?.resolve();
    await runtime.settle();
    expect(sessions.map(({ wasStarted }) => wasStarted)).toEqual([true, true, true, false]);
  });

  it('lets all of three hundred sessions join', async () => {
    const slots = new JoinSlots(runtime, () => 16);
    const sessions = Array.from({ length: 300 }, () => session());
    await Promise.all(sessions.map((one) => slots.join(one, untilEnd())));
    expect(startedAmong(sessions)).toBe(300);
  });

  it('frees the slot of a session after 100 ms, since brokers delay new groups', async () => {
    const slots = new JoinSlots(runtime, () => 1);
    const sessions = [session({ joins: 'never' }), session()];
    joinAll(slots, sessions);
    await runtime.advance(99);
    expect(startedAmong(sessions)).toBe(1);
    await runtime.advance(1);
    expect(startedAmong(sessions)).toBe(2);
  });

  it('frees the slot of a session at once if it waits for its broker or its topic', async () => {
    const slots = new JoinSlots(runtime, () => 1);
    const sessions = [session({ joins: 'never' }), session({ joins: 'never' }), session()];
    joinAll(slots, sessions);
    await runtime.settle();
    sessions[0]?.becomes({ state: 'retrying', error: new Error('unreachable') });
    sessions[0]?.becomes({ state: 'retrying', error: new Error('still unreachable') });
    await runtime.settle();
    expect(startedAmong(sessions)).toBe(2);
  });

  it('gives no slot to a session whose container was closed while it waited', async () => {
    const slots = new JoinSlots(runtime, () => 1);
    const [holder, leaver, next] = [session({ joins: 'never' }), session(), session()];
    joinAll(slots, [holder]);
    const leaving = new AbortController();
    const left = slots.join(leaver, leaving.signal);
    joinAll(slots, [next]);
    leaving.abort();
    await expect(left).rejects.toBeInstanceOf(ClosedError);
    await runtime.advance(10_000);
    expect([leaver.wasStarted, next.wasStarted]).toEqual([false, true]);
  });

  it('leaves no timer and no subscription behind', async () => {
    const clock = new VirtualRuntime();
    const one = session();
    await new JoinSlots(clock, () => 1).join(one, untilEnd());
    expect([clock.pendingTimers, one.listeners]).toEqual([0, 0]);
  });
});
