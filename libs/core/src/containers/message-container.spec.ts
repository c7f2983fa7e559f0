import { ClosedError, ConnectionError, UnknownTopicError } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { binding, busWith } from './bus-test-bed.spec-support.js';
import type { SessionScript } from './fake-sessions.spec-support.js';
import type { MessageContainer } from './message-container.js';

const never = (): Promise<never> => new Promise<never>(() => {});

function containerWith(
  concurrency = 2,
  scripts: readonly SessionScript[] = [],
): ReturnType<typeof busWith> & { container: MessageContainer } {
  const bus = busWith();
  scripts.forEach((script, index) => bus.sessions.scripts.set(`eventbus-orders-${index}`, script));
  return { ...bus, container: bus.build(binding('orders', { concurrency })).mainContainer };
}

const calls = (bus: ReturnType<typeof containerWith>): readonly (readonly string[])[] =>
  bus.sessions.all.map((session) => session.calls);

describe('MessageContainer.start', () => {
  it('opens as many sessions as its concurrency, and has joined when all of them have joined', async () => {
    const gate = new Deferred();
    const bus = containerWith(3, [{}, { joins: gate.promise }]);
    let joined = false;
    await bus.container.start();
    void bus.container.joined().then(() => (joined = true));
    await bus.runtime.settle();
    expect(bus.sessions.all.map(({ id }) => id)).toEqual([
      'eventbus-orders-0',
      'eventbus-orders-1',
      'eventbus-orders-2',
    ]);
    expect([joined, bus.container.status.state]).toEqual([false, 'starting']);
    gate.resolve();
    await bus.runtime.settle();
    expect([joined, bus.container.status.state]).toEqual([true, 'joined']);
  });

  it('does not reject for an unreachable broker; the status shows the error', async () => {
    const bus = containerWith(2, [{}, { joins: 'never' }]);
    await bus.container.start();
    await bus.runtime.settle();
    const error = new ConnectionError('refused');
    bus.sessions.get('eventbus-orders-1').becomes({ state: 'retrying', error });
    expect(bus.container.status).toMatchObject({
      state: 'retrying',
      error,
      since: bus.runtime.now(),
    });
    const missing = new UnknownTopicError('orders.events');
    bus.sessions.get('eventbus-orders-1').becomes({ state: 'retrying', error: missing });
    expect(bus.container.status).toMatchObject({ state: 'topic-missing', error: missing });
  });

  it('closes the opened sessions if the driver refuses one, and the container can be started again', async () => {
    const bus = containerWith(3);
    bus.sessions.refused.add('eventbus-orders-2');
    await expect(bus.container.start()).rejects.toThrow(/eventbus-orders-2 is refused/);
    expect(calls(bus)).toEqual([['close 0'], ['close 0']]);
    bus.sessions.refused.clear();
    await bus.container.start();
    await expect(bus.container.joined()).resolves.toBeUndefined();
  });

  it('rejects while the container runs', async () => {
    const { container, sessions } = containerWith();
    await container.start();
    await expect(container.start()).rejects.toThrow(/started already/);
    expect(sessions.all).toHaveLength(2);
  });

  it('shows and logs the error of a session whose start() rejects', async () => {
    const bus = containerWith(1, [{ joins: Promise.reject(new TypeError('a defect')) }]);
    await bus.container.start();
    await expect(bus.container.joined()).rejects.toThrow('a defect');
    expect(bus.container.status).toMatchObject({ state: 'failed' });
    expect(bus.logger.lines).toMatchObject([{ level: 'error', context: { error: 'TypeError' } }]);
  });

  it('joined() rejects if the container was stopped first, or was not started', async () => {
    const { container } = containerWith(1, [{ joins: 'never' }]);
    await expect(container.joined()).rejects.toBeInstanceOf(ClosedError);
    await container.start();
    const joined = container.joined();
    await container.close();
    await expect(joined).rejects.toBeInstanceOf(ClosedError);
    expect(container.status.state).toBe('stopped');
  });
});

describe('MessageContainer.pause', () => {
  it('pauses every session even if one fails, and shows the reasons', async () => {
    const bus = containerWith(2, [{ pause: () => Promise.reject(new Error('no commit')) }]);
    await bus.container.start();
    await expect(bus.container.pause('operator')).rejects.toThrow(/could not pause.*no commit/);
    await bus.container.pause('circuit').catch(() => undefined);
    await bus.container.resume('operator');
    expect(bus.container.status.pauses).toEqual(['circuit']);
    expect(bus.sessions.all.every(({ pauses }) => pauses.has('circuit'))).toBe(true);
  });

  it('times out if a session does not answer', async () => {
    const bus = containerWith(2, [{ pause: never }]);
    await bus.container.start();
    const pausing = bus.container.pause('operator');
    pausing.catch(() => undefined);
    await bus.runtime.advance(15_000);
    await expect(pausing).rejects.toThrow(/did not pause within 15000 ms/);
  });

  it('does nothing while the container closes', async () => {
    const bus = containerWith(1);
    await bus.container.start();
    const closing = bus.container.close(1_000);
    await bus.container.pause('operator');
    await bus.container.resume('operator');
    await closing;
    expect(calls(bus)).toEqual([['start', 'close 1000']]);
  });
});

describe('MessageContainer.close', () => {
  it('reports the records that its sessions abandoned, and their errors', async () => {
    const left = { topic: 'orders.events', partition: 1, offset: 42 };
    const bus = containerWith(3, [
      { close: async () => ({ complete: false, abandoned: [left] }) },
      { close: () => Promise.reject(new Error('commit refused')) },
    ]);
    await bus.container.start();
    const report = await bus.container.close(1_000);
    expect(report).toMatchObject({ complete: false, abandoned: [left] });
    expect(report.errors.map(({ message }) => message)).toEqual(['commit refused']);
    expect(bus.logger.lines).toMatchObject([
      { level: 'warn', context: { binding: 'orders', redelivered: ['orders.events-1@42'] } },
    ]);
  });

  it('runs once: a second call gets the same report, and the first drain timeout applies', async () => {
    const bus = containerWith(1);
    await bus.container.start();
    const [first, second] = [bus.container.close(1_000), bus.container.close(5)];
    expect(await first).toBe(await second);
    expect(calls(bus)).toEqual([['start', 'close 1000']]);
  });

  it('waits 16 s longer than the drain timeout for a session that does not answer', async () => {
    const bus = containerWith(1, [{ close: never }]);
    await bus.container.start();
    const closing = bus.container.close(1_000);
    await bus.runtime.advance(17_000);
    expect(await closing).toMatchObject({ complete: false, errors: [{ operation: 'close' }] });
  });

  it('does nothing before start()', async () => {
    const { container, sessions } = containerWith();
    expect(await container.close(1_000)).toEqual({ complete: true, abandoned: [], errors: [] });
    expect(sessions.all).toEqual([]);
  });

  it('closes every session even if one rejects or hangs, and allows another start', async () => {
    const scripts = [{ close: () => Promise.reject(new Error('no')) }, { close: never }];
    const bus = containerWith(3, scripts);
    await bus.container.start();
    const closing = bus.container.close();
    await bus.runtime.advance(16_000);
    expect(await closing).toMatchObject({
      complete: false,
      errors: [{ message: 'no' }, { operation: 'close' }],
    });
    expect(calls(bus).every((made) => made.includes('close 0'))).toBe(true);
    await bus.container.start();
    await bus.runtime.settle();
    expect(bus.container.status.state).toBe('joined');
  });

  it('allows another start, which has new sessions and no pause', async () => {
    const bus = containerWith(1);
    await bus.container.start();
    await bus.container.pause('operator');
    await bus.container.close();
    await bus.container.start();
    expect(bus.sessions.all).toHaveLength(2);
    expect(bus.container.status.pauses).toEqual([]);
  });

  it('leaves no timer and no subscription behind', async () => {
    const bus = containerWith(2);
    await bus.container.start();
    await bus.runtime.settle();
    await bus.container.pause('operator');
    await bus.container.close(1_000);
    expect(bus.runtime.pendingTimers).toBe(0);
    expect(bus.sessions.all.map(({ listeners }) => listeners)).toEqual([0, 0]);
  });
});

describe('MessageContainer', () => {
  it('adds up the record counters of its sessions, also those before a restart', async () => {
    const bus = containerWith(2);
    const counted = {
      received: 5,
      succeeded: 3,
      discarded: 0,
      duplicates: 0,
      retried: 0,
      deadLettered: 0,
      failed: 1,
      handedBack: 0,
      inFlight: 1,
      slicesCut: 0,
      membershipsGivenUp: 0,
    };
    await bus.container.start();
    for (const session of bus.sessions.all) session.counts = counted;
    expect(bus.container.counts).toMatchObject({ received: 10, inFlight: 2 });
    await bus.container.close();
    await bus.container.start();
    const [first, second] = bus.sessions.all;
    if (first) first.counts = { ...counted, succeeded: 4, inFlight: 0 };
    await bus.container.close();
    await bus.container.start();
    if (second) second.counts = { ...counted, handedBack: 1, inFlight: 0 };
    bus.sessions.get('eventbus-orders-0').counts = counted;
    expect(bus.container.counts).toEqual({
      received: 15,
      succeeded: 10,
      discarded: 0,
      duplicates: 0,
      retried: 0,
      deadLettered: 0,
      failed: 3,
      handedBack: 1,
      inFlight: 1,
      slicesCut: 0,
      membershipsGivenUp: 0,
    });
  });

  it('notifies its listeners of every change, even if one of them throws', async () => {
    const bus = containerWith(1);
    const seen: string[] = [];
    bus.container.onStatus(() => {
      throw new Error('not our fault');
    });
    const unsubscribe = bus.container.onStatus(({ state }) => seen.push(state));
    await bus.container.start();
    await bus.runtime.settle();
    await bus.container.close();
    unsubscribe();
    await bus.container.start();
    expect([...new Set(seen)]).toEqual(['starting', 'joined', 'draining', 'stopped']);
    expect(bus.logger.lines[0]).toMatchObject({ context: { reason: 'Error' } });
  });
});

describe('MessageContainer.decide', () => {
  const partition = { topic: 'orders.events', partition: 3 };

  it('passes the decision to the session that owns the partition', async () => {
    const bus = containerWith(2);
    await bus.container.start();
    bus.sessions
      .get('eventbus-orders-1')
      .becomes({ partitionPauses: [{ ...partition, reasons: ['strict'] }] });
    expect(bus.container.decide(partition, 'skip')).toBe(true);
    expect(calls(bus)).toEqual([['start'], ['start', 'decide orders.events-3 skip']]);
  });

  it('passes the offset to the session', async () => {
    const bus = containerWith(1);
    await bus.container.start();
    bus.sessions
      .get('eventbus-orders-0')
      .becomes({ partitionPauses: [{ ...partition, reasons: ['strict'], undecidedOffset: 7 }] });
    expect(bus.container.decide({ ...partition, offset: 6 }, 'skip')).toBe(false);
    expect(bus.container.decide({ ...partition, offset: 7 }, 'skip')).toBe(true);
  });

  it('returns false if no session waits for a decision, before start() and during close()', async () => {
    const bus = containerWith(1);
    expect(bus.container.decide(partition, 'retry')).toBe(false);
    await bus.container.start();
    expect(bus.container.decide(partition, 'retry')).toBe(false);
    bus.sessions
      .get('eventbus-orders-0')
      .becomes({ partitionPauses: [{ ...partition, reasons: ['strict'] }] });
    void bus.container.close(1_000);
    expect(bus.container.decide(partition, 'retry')).toBe(false);
  });
});
