import { AsyncLocalStorage } from 'node:async_hooks';
import { EventStatus } from '../model/event-status.js';
import { OutboxSetup } from '../outbox-setup.spec-support.js';
import { EventInterceptor } from './event-interceptor.js';
import type { QueuedEvent } from './queued-event.js';

const hot = (setup: OutboxSetup, id: string): QueuedEvent => ({
  envelope: setup.event(id),
  source: 'HOT',
  attempts: 0,
});
const cold = (setup: OutboxSetup, id: string, attempts = 0): QueuedEvent => ({
  envelope: setup.event(id),
  source: 'COLD',
  attempts,
});

/** A listener whose calls end when the test says so. */
class Gate {
  readonly calls: string[] = [];
  #opens: (() => void)[] = [];

  onEvent({ eventId }: { eventId: string }): Promise<void> {
    this.calls.push(eventId);
    return new Promise((resolve) => this.#opens.push(resolve));
  }

  open(): void {
    for (const open of this.#opens.splice(0)) open();
  }
}

describe('OutboxDispatcher', () => {
  let setup: OutboxSetup;
  beforeEach(() => (setup = new OutboxSetup()));

  const failing = (message = 'no'): void => {
    setup.registry.register('A', { onEvent: () => Promise.reject(new Error(message)) });
  };

  it.each(['connectionProvider', 'outboxStore', 'listenerRegistry'] as const)(
    'is not built without %s',
    (field) => {
      const builder = setup.dispatcher();
      builder[field](undefined as never);
      expect(() => builder.build()).toThrow(TypeError);
      expect(() => builder.build()).toThrow(field);
    },
  );

  it('has the defaults of its options', () => {
    const options = jest.fn();
    const { OutboxDispatcherBuilder } = jest.requireActual('./outbox-dispatcher-builder.js');
    new OutboxDispatcherBuilder(options)
      .connectionProvider({})
      .outboxStore({})
      .listenerRegistry({})
      .build();
    expect(options.mock.calls[0][0]).toMatchObject({
      maxAttempts: 10,
      workerCount: 4,
      hotQueueCapacity: 1_000,
      coldQueueCapacity: 1_000,
      drainTimeoutMs: 5_000,
      unroutable: 'dead',
      interceptors: [],
      retryPolicy: { baseDelayMs: 200, maxDelayMs: 60_000 },
    });
  });

  it.each(['hotQueueCapacity', 'coldQueueCapacity', 'workerCount', 'maxAttempts'] as const)(
    'refuses a %s that is not a whole number above 0',
    (field) => {
      for (const value of [0, -1, 1.5, Infinity, Number.NaN])
        expect(() => setup.dispatcher()[field](value).build()).toThrow(field);
    },
  );

  it('marks an event DONE when its listener has ended', async () => {
    const gate = new Gate();
    setup.registry.register('A', gate);
    await setup.insert('e1');
    const dispatcher = setup.dispatcher().build();
    expect(dispatcher.enqueueHot(hot(setup, 'e1'))).toBe(true);
    await setup.settle();
    expect(setup.status('e1')).toBe(EventStatus.NEW);
    gate.open();
    await setup.settle();
    expect(setup.status('e1')).toBe(EventStatus.DONE);
    expect(setup.counts).toMatchObject({ incrementHotEnqueued: 1, incrementDispatchSuccess: 1 });
  });

  it('takes two hot events for each cold one, and the other queue if one is empty', async () => {
    const order: string[] = [];
    const gate = new Gate();
    setup.registry.register('A', { onEvent: (event) => void order.push(event.eventId) });
    setup.registry.register('GATE', gate);
    const dispatcher = setup.dispatcher().workerCount(1).build();
    dispatcher.enqueueHot({
      ...hot(setup, 'g'),
      envelope: setup.event('g', { eventType: 'GATE' }),
    });
    for (let index = 0; index < 300; index++) {
      dispatcher.enqueueHot(hot(setup, `h${index}`));
      dispatcher.enqueueCold(cold(setup, `c${index}`));
    }
    await setup.settle();
    gate.open();
    while (order.length < 600) await setup.settle();
    // The gate was a hot turn too.
    const first = ['hot', ...order.map((id) => (id.startsWith('h') ? 'hot' : 'cold'))].slice(0, 30);
    expect(first.filter((kind) => kind === 'hot')).toHaveLength(20);
    expect(order).toHaveLength(600);
  });

  it('returns false if a queue is full, and keeps the event in the table', async () => {
    const gate = new Gate();
    setup.registry.register('A', gate);
    await setup.insert('e1', 'e2', 'e3', 'e4', 'e5');
    const dispatcher = setup
      .dispatcher()
      .workerCount(1)
      .hotQueueCapacity(2)
      .coldQueueCapacity(1)
      .build();
    const results = ['e1', 'e2', 'e3', 'e4'].map((id) => dispatcher.enqueueHot(hot(setup, id)));
    expect(results).toEqual([true, true, true, false]);
    expect(dispatcher.coldQueueRemainingCapacity()).toBe(1);
    expect(dispatcher.enqueueCold(cold(setup, 'e5'))).toBe(true);
    expect(dispatcher.enqueueCold(cold(setup, 'e4'))).toBe(false);
    expect(dispatcher.coldQueueRemainingCapacity()).toBe(0);
    expect(setup.status('e4')).toBe(EventStatus.NEW);
  });

  it('dispatches at most workerCount events at a time', async () => {
    const gate = new Gate();
    setup.registry.register('A', gate);
    const dispatcher = setup.dispatcher().workerCount(3).build();
    for (let index = 0; index < 10; index++) dispatcher.enqueueHot(hot(setup, `e${index}`));
    await setup.settle();
    expect(gate.calls).toHaveLength(3);
    gate.open();
    await setup.settle();
    expect(gate.calls).toHaveLength(6);
  });

  it('drops an event that is in flight, queued or done in this process', async () => {
    const gate = new Gate();
    setup.registry.register('A', gate);
    await setup.insert('e1', 'e2');
    const dispatcher = setup.dispatcher().workerCount(1).build();
    dispatcher.enqueueHot(hot(setup, 'e1'));
    dispatcher.enqueueHot(hot(setup, 'e2'));
    await setup.settle();
    expect(dispatcher.enqueueCold(cold(setup, 'e1'))).toBe(true);
    expect(dispatcher.enqueueCold(cold(setup, 'e2'))).toBe(true);
    for (let turn = 0; turn < 4; turn++) {
      gate.open();
      await setup.settle();
    }
    dispatcher.enqueueCold(cold(setup, 'e1'));
    await setup.settle();
    expect(gate.calls).toEqual(['e1', 'e2']);
  });

  it('drops an event whose commit is reported after a poll has read and finished it', async () => {
    const gate = new Gate();
    setup.registry.register('A', gate);
    await setup.insert('e1');
    const dispatcher = setup.dispatcher().build();
    dispatcher.enqueueCold(cold(setup, 'e1'));
    await setup.settle();
    gate.open();
    await setup.settle();
    expect(dispatcher.enqueueHot(hot(setup, 'e1'))).toBe(true);
    await setup.settle();
    expect(gate.calls).toEqual(['e1']);
  });

  it('calls interceptors before in order and after in reverse, with the error or null', async () => {
    const calls: string[] = [];
    const interceptor = (name: string): EventInterceptor => ({
      beforeDispatch: () => void calls.push(`before ${name}`),
      afterDispatch: (_, error) => void calls.push(`after ${name} ${error?.message ?? null}`),
    });
    setup.registry.register('A', { onEvent: () => void calls.push('listener') });
    setup.registry.register('B', { onEvent: () => Promise.reject(new Error('no')) });
    const dispatcher = setup
      .dispatcher()
      .interceptor(interceptor('1'))
      .interceptors([interceptor('2'), {}])
      .build();
    dispatcher.enqueueHot(hot(setup, 'e1'));
    await setup.settle();
    expect(calls).toEqual(['before 1', 'before 2', 'listener', 'after 2 null', 'after 1 null']);
    calls.length = 0;
    dispatcher.enqueueHot({ ...hot(setup, 'e2'), envelope: setup.event('e2', { eventType: 'B' }) });
    await setup.settle();
    expect(calls).toEqual(['before 1', 'before 2', 'after 2 no', 'after 1 no']);
  });

  it('makes an event wait for a retry if beforeDispatch fails, without calling the listener', async () => {
    const gate = new Gate();
    setup.registry.register('A', gate);
    await setup.insert('e1');
    const refuse = EventInterceptor.before(() => Promise.reject(new Error('no')));
    setup.dispatcher().interceptor(refuse).build().enqueueHot(hot(setup, 'e1'));
    await setup.settle();
    expect(setup.status('e1')).toBe(EventStatus.RETRY);
    expect(gate.calls).toEqual([]);
  });

  it('logs an error of afterDispatch and keeps the result', async () => {
    setup.registry.register('A', { onEvent: () => undefined });
    await setup.insert('e1');
    const fail = EventInterceptor.after(() => Promise.reject(new Error('no')));
    setup.dispatcher().interceptor(fail).build().enqueueHot(hot(setup, 'e1'));
    await setup.settle();
    expect(setup.status('e1')).toBe(EventStatus.DONE);
    expect(setup.lines).toEqual([expect.stringMatching(/^error An interceptor failed/)]);
  });

  it('makes an event without a listener DEAD at once', async () => {
    await setup.insert('e1');
    setup.dispatcher().build().enqueueHot(hot(setup, 'e1'));
    await setup.settle();
    expect(setup.database.rows.get('e1')).toMatchObject({
      status: EventStatus.DEAD,
      lastError: expect.stringContaining("'__GLOBAL__:A'"),
    });
    expect(setup.lines).toEqual([expect.stringMatching(/^error Event e1 of type A is DEAD/)]);
    expect(setup.counts.incrementDispatchDead).toBe(1);
  });

  it('lets an event without a listener wait with unroutable: retry', async () => {
    await setup.insert('e1');
    setup.dispatcher().unroutable('retry').build().enqueueHot(hot(setup, 'e1'));
    await setup.settle();
    expect(setup.status('e1')).toBe(EventStatus.RETRY);
  });

  it('retries a failed event after the delay of the policy, and makes it DEAD at maxAttempts', async () => {
    failing();
    await setup.insert('e1');
    const dispatcher = setup
      .dispatcher()
      .maxAttempts(3)
      .retryPolicy({ computeDelayMs: (attempts) => attempts * 100 })
      .build();
    dispatcher.enqueueCold(cold(setup, 'e1', 0));
    await setup.settle();
    const row = setup.database.rows.get('e1');
    expect(row).toMatchObject({
      status: EventStatus.RETRY,
      attempts: 1,
      availableAt: setup.runtime.now() + 100,
      lastError: 'Error: no',
    });
    dispatcher.enqueueCold(cold(setup, 'e1', 1));
    await setup.settle();
    expect(row).toMatchObject({ attempts: 2, availableAt: setup.runtime.now() + 200 });
    dispatcher.enqueueCold(cold(setup, 'e1', 2));
    await setup.settle();
    expect(row).toMatchObject({ status: EventStatus.DEAD, attempts: 2 });
    expect(setup.counts).toMatchObject({ incrementDispatchFailure: 2, incrementDispatchDead: 1 });
  });

  it('logs the name of an error and not its message', async () => {
    failing('secret');
    await setup.insert('e1');
    setup.dispatcher().maxAttempts(1).build().enqueueHot(hot(setup, 'e1'));
    await setup.settle();
    expect(setup.lines.join()).not.toContain('secret');
  });

  it('releases an event whose result could not be stored, logs it and goes on', async () => {
    const gate = new Gate();
    setup.registry.register('A', gate);
    await setup.insert('e1');
    const markDone = jest.spyOn(setup.store, 'markDone').mockRejectedValueOnce(new Error('down'));
    const dispatcher = setup.dispatcher().build();
    for (let turn = 0; turn < 2; turn++) {
      dispatcher.enqueueHot(hot(setup, 'e1'));
      await setup.settle();
      gate.open();
      await setup.settle();
    }
    expect(markDone).toHaveBeenCalledTimes(2);
    expect(setup.status('e1')).toBe(EventStatus.DONE);
    expect(setup.lines).toEqual([expect.stringMatching(/could not be stored/)]);
  });

  it('drains its queues on close and refuses new events', async () => {
    const gate = new Gate();
    setup.registry.register('A', gate);
    await setup.insert('e1', 'e2');
    const dispatcher = setup.dispatcher().workerCount(1).build();
    dispatcher.enqueueHot(hot(setup, 'e1'));
    dispatcher.enqueueHot(hot(setup, 'e2'));
    const closed = dispatcher.close();
    expect(dispatcher.enqueueHot(hot(setup, 'e3'))).toBe(false);
    expect(dispatcher.enqueueCold(cold(setup, 'e3'))).toBe(false);
    for (let turn = 0; turn < 2; turn++) {
      await setup.settle();
      gate.open();
    }
    await closed;
    expect([setup.status('e1'), setup.status('e2')]).toEqual([EventStatus.DONE, EventStatus.DONE]);
  });

  it('ends close after drainTimeoutMs with a stuck listener', async () => {
    setup.registry.register('A', new Gate());
    const dispatcher = setup.dispatcher().drainTimeoutMs(700).build();
    dispatcher.enqueueHot(hot(setup, 'e1'));
    let isClosed = false;
    const closed = dispatcher.close().then(() => (isClosed = true));
    await setup.advance(699);
    expect(isClosed).toBe(false);
    await setup.advance(1);
    await closed;
    expect(setup.lines).toEqual([expect.stringMatching(/^warn .* 1 unfinished events/)]);
  });

  it('runs listeners outside the context of the request that has committed', async () => {
    const request = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    setup.registry.register('A', { onEvent: () => void seen.push(request.getStore()) });
    const dispatcher = setup.dispatcher().build();
    request.run('request', () => dispatcher.enqueueHot(hot(setup, 'e1')));
    await setup.settle();
    expect(seen).toEqual([undefined]);
  });
});
