import type { EventEnvelope } from '../model/event-envelope.js';
import { EventStatus } from '../model/event-status.js';
import { Outbox } from '../api/outbox.js';
import type { LeasedOutboxOptions } from '../api/leased-outbox-builder.js';
import { OutboxSetup } from '../outbox-setup.spec-support.js';
import type { BatchResult } from './batch-listener.js';

const outage = (): Error => Object.assign(new Error('down'), { code: 'ECONNREFUSED' });

describe('The leased mode', () => {
  let setup: OutboxSetup;
  let seen: string[];
  const open: Outbox[] = [];
  beforeEach(() => {
    setup = new OutboxSetup();
    seen = [];
  });
  afterEach(async () => {
    for (const outbox of open.splice(0)) await outbox.close();
  });

  const start = (options: LeasedOutboxOptions = {}): Outbox => {
    const outbox = Outbox.leased()
      .options({
        connectionProvider: setup.database,
        txContext: setup.tx,
        outboxStore: setup.store,
        listenerRegistry: setup.registry,
        metrics: setup.metrics,
        logger: setup.logger,
        runtime: setup.runtime,
        ...options,
      })
      .build();
    open.push(outbox);
    return outbox;
  };

  const listen = (onEvent: (id: string) => void | Promise<void> = () => undefined): void => {
    setup.registry.register('ORDER', 'A', {
      onEvent: async ({ eventId }) => {
        seen.push(eventId);
        await onEvent(eventId);
      },
    });
  };

  const keyed = (id: string, key = id[0] ?? ''): EventEnvelope =>
    setup.event(id, { aggregateType: 'ORDER', aggregateId: key });

  const write = async (outbox: Outbox, ...ids: readonly string[]): Promise<void> => {
    for (const id of ids) await setup.tx.inTransaction(() => outbox.writer.write(keyed(id)));
  };

  const statuses = (...ids: readonly string[]): unknown => ids.map((id) => setup.status(id));
  const { NEW, DONE, RETRY, DEAD } = EventStatus;

  it('dispatches after the commit without waiting for a poll', async () => {
    listen();
    const outbox = start();
    await setup.settle();
    await write(outbox, 'a1', 'a2', 'b1');
    await setup.advance(30);
    expect(statuses('a1', 'a2', 'b1')).toEqual([DONE, DONE, DONE]);
  });

  it('stores a result once although the metrics exporter throws', async () => {
    listen();
    const complete = jest.spyOn(setup.store, 'complete');
    const metrics = new Proxy(setup.metrics, {
      get(exporter, name): unknown {
        if (name === 'incrementDispatchSuccess') throw new Error('the exporter is gone');
        return Reflect.get(exporter, name);
      },
    });
    const outbox = start({ metrics });
    await setup.settle();
    await write(outbox, 'a1');
    await setup.advance(5_000);
    expect(statuses('a1')).toEqual([DONE]);
    expect(complete).toHaveBeenCalledTimes(1);
  });

  it('goes on with a key whose event is stored while a slow event of the same claim runs', async () => {
    listen((id) =>
      id === 'a1' ? new Promise((resolve) => setup.runtime.setTimer(resolve, 60_000)) : undefined,
    );
    const outbox = start({ batchSize: 2 });
    await setup.tx.inTransaction(() =>
      outbox.writer.writeAll(['a1', 'b1', 'b2'].map((id) => keyed(id))),
    );
    await setup.advance(1_000);
    expect(statuses('a1', 'b1', 'b2')).toEqual([NEW, DONE, DONE]);
    await setup.advance(60_000);
    expect(statuses('a1')).toEqual([DONE]);
  });

  it('claims at most five times a second while slow events end one by one', async () => {
    listen((id) => new Promise((resolve) => setup.runtime.setTimer(resolve, Number(id) * 30)));
    const lease = jest.spyOn(setup.store, 'lease');
    const outbox = start();
    const events = Array.from({ length: 100 }, (_, index) => keyed(String(index), `k${index}`));
    await setup.tx.inTransaction(() => outbox.writer.writeAll(events));
    await setup.settle();
    lease.mockClear();
    await setup.advance(1_000);
    expect(lease.mock.calls.length).toBeLessThanOrEqual(5);
    await setup.advance(60_000);
    expect(setup.counts).toMatchObject({ incrementDispatchSuccess: 100 });
  });

  it('finds events of other processes with its poll', async () => {
    listen();
    start();
    await setup.settle();
    const { connection } = await setup.database.getConnection();
    await setup.store.insertNew(connection, keyed('a1'));
    await setup.advance(4_900);
    expect(seen).toEqual([]);
    await setup.advance(200);
    expect(seen).toEqual(['a1']);
  });

  it('keeps the order of a key over a retry, and other keys go on', async () => {
    let failures = 2;
    listen((id) => (id === 'a1' && failures-- > 0 ? Promise.reject(new Error('no')) : undefined));
    const outbox = start({ retryPolicy: { computeDelayMs: () => 1_000 } });
    await write(outbox, 'a1', 'a2', 'b1');
    await setup.advance(100);
    expect(statuses('a1', 'a2', 'b1')).toEqual([RETRY, NEW, DONE]);
    await setup.advance(3_000);
    expect(seen.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a1', 'a1', 'a2']);
    expect(statuses('a1', 'a2')).toEqual([DONE, DONE]);
  });

  it('keeps the order of each key with several relays and random delays', async () => {
    listen(() => new Promise((resolve) => setup.runtime.setTimer(resolve, seen.length % 7)));
    const outbox = start({ batchSize: 7 });
    start({ batchSize: 5 });
    const ids = Array.from({ length: 30 }, (_, index) => `${'abc'[index % 3]}${index + 10}`);
    await write(outbox, ...ids);
    for (let turn = 0; turn < 40; turn++) await setup.advance(50);
    expect(seen).toHaveLength(ids.length);
    for (const key of 'abc') {
      const own = (all: readonly string[]): readonly string[] => all.filter((id) => id[0] === key);
      expect(own(seen)).toEqual(own(ids));
    }
  });

  it.each([
    ['pass', [DEAD, DONE]],
    ['block', [DEAD, NEW]],
  ] as const)('lets a key with a DEAD event %s', async (deadKey, expected) => {
    listen((id) => (id === 'a1' ? Promise.reject(new Error('no')) : undefined));
    const outbox = start({ deadKey, maxAttempts: 1 });
    await write(outbox, 'a1', 'a2');
    await setup.advance(6_000);
    expect(statuses('a1', 'a2')).toEqual(expected);
    const { connection } = await setup.database.getConnection();
    const blocked = await setup.store.blockedKeys(connection, 9);
    expect(blocked.map(({ key }) => key)).toEqual(deadKey === 'block' ? ['ORDER:a'] : []);
  });

  it('starts each retry at its time, also after an earlier one of another event', async () => {
    const started: number[] = [];
    const startedAt = setup.runtime.now();
    listen(() => {
      const afterMs = setup.runtime.now() - startedAt;
      started.push(afterMs);
      return afterMs === 0 ? Promise.reject(new Error('no')) : undefined;
    });
    const delays = [300, 1_000, 2_500];
    const outbox = start({ retryPolicy: { computeDelayMs: () => delays.shift() ?? 1 } });
    await setup.tx.inTransaction(() =>
      outbox.writer.writeAll(['a1', 'b1', 'c1'].map((id) => keyed(id))),
    );
    await setup.advance(4_000);
    expect(started).toEqual([0, 0, 0, 300, 1_000, 2_500]);
  });

  it('counts no attempt during an outage, pauses, and goes on after it', async () => {
    let isDown = true;
    listen(() => (isDown ? Promise.reject(outage()) : undefined));
    const outbox = start({ maxAttempts: 2 });
    await write(outbox, 'a1', 'b1', 'c1');
    await setup.advance(600_000);
    expect(statuses('a1', 'b1', 'c1')).toEqual([NEW, NEW, NEW]);
    expect([...setup.database.rows.values()].map(({ attempts }) => attempts)).toEqual([0, 0, 0]);
    // Thirty seconds at most lie between two tries.
    expect(seen.length).toBeLessThan(60);
    expect(seen.length).toBeGreaterThan(15);
    isDown = false;
    await setup.advance(60_000);
    expect(statuses('a1', 'b1', 'c1')).toEqual([DONE, DONE, DONE]);
    expect(setup.lines).toEqual([
      expect.stringMatching(/^warn The outbox pauses/),
      expect.stringMatching(/^log The outbox goes on/),
    ]);
  });

  it('finds an event that kills its process, and spares the events beside it', async () => {
    listen();
    const { connection } = await setup.database.getConnection();
    for (const id of ['a1', 'b1', 'c1']) await setup.store.insertNew(connection, keyed(id));
    // 1. A process leases all three and dies. 2. Two processes start a1 alone and die.
    for (const token of ['dead1', 'dead2', 'dead3']) {
      await setup.store.lease(connection, { token, leaseMs: 10, limit: 100, order: 'key' });
      if (token !== 'dead1') await setup.store.markStarted(connection, token, 'a1');
      await setup.advance(11);
    }
    start();
    await setup.advance(100);
    expect(statuses('a1', 'b1', 'c1')).toEqual([DEAD, DONE, DONE]);
    expect(seen).toEqual(['b1', 'c1']);
    expect(setup.lines[0]).toMatch(/^error Event a1 is DEAD: 3 attempts were started/);
  });

  it('counts an attempt of a suspected event before it starts', async () => {
    listen((id) => {
      if (id === 'a1') expect(setup.database.rows.get('a1')?.unfinishedAttempts).toBe(2);
    });
    const { connection } = await setup.database.getConnection();
    await setup.store.insertNew(connection, keyed('a1'));
    await setup.store.lease(connection, { token: 'dead', leaseMs: 10, limit: 9, order: 'key' });
    await setup.advance(11);
    start();
    await setup.advance(100);
    expect(setup.database.rows.get('a1')).toMatchObject({ status: DONE, unfinishedAttempts: 0 });
  });

  it('renews the lease of a slow event, so that no other relay gets it', async () => {
    listen(() => new Promise((resolve) => setup.runtime.setTimer(resolve, 100_000)));
    const outbox = start({ leaseMs: 9_000 });
    start({ leaseMs: 9_000 });
    await write(outbox, 'a1');
    await setup.advance(101_000);
    expect(seen).toEqual(['a1']);
    expect(statuses('a1')).toEqual([DONE]);
  });

  it('never renews a lease that has ended, as after a process was frozen', async () => {
    const renew = jest.spyOn(setup.store, 'renew');
    listen(() => new Promise((resolve) => setup.runtime.setTimer(resolve, 5_000)));
    await write(start({ leaseMs: 9_000 }), 'a1');
    await setup.advance(1_000);
    const frozenAt = setup.runtime.monotonic();
    jest.spyOn(setup.runtime, 'monotonic').mockReturnValue(frozenAt + 20_000);
    await setup.advance(3_000);
    expect(renew).not.toHaveBeenCalled();
    jest.restoreAllMocks();
    await setup.advance(5_000);
  });

  it('calls no listener after interceptors that have used up the lease, and counts no attempt', async () => {
    jest.spyOn(setup.store, 'renew').mockRejectedValue(new Error('frozen'));
    listen();
    let delayMs = 7_000;
    const wait = (): Promise<void> =>
      new Promise((resolve) => setup.runtime.setTimer(resolve, delayMs));
    const outbox = Outbox.leased()
      .options({
        connectionProvider: setup.database,
        txContext: setup.tx,
        outboxStore: setup.store,
        listenerRegistry: setup.registry,
        logger: setup.logger,
        runtime: setup.runtime,
        leaseMs: 9_000,
      })
      .interceptor({ beforeDispatch: wait })
      .build();
    open.push(outbox);
    await write(outbox, 'a1');
    await setup.advance(7_100);
    expect([seen, setup.database.rows.get('a1')?.attempts]).toEqual([[], 0]);
    delayMs = 1;
    await setup.advance(20_000);
    expect([seen, statuses('a1')]).toEqual([['a1'], [DONE]]);
  });

  it('tells a listener how long its lease is held', async () => {
    const left: (number | undefined)[] = [];
    setup.registry.register('ORDER', 'A', {
      onEvent: (_event, context) => void left.push(context?.leaseLeftMs),
    });
    await write(start({ leaseMs: 9_000 }), 'a1');
    await setup.advance(1);
    expect(left).toEqual([9_000]);
  });

  it('starts no event whose lease may end, and stores nothing after a successor', async () => {
    jest.spyOn(setup.store, 'renew').mockRejectedValue(new Error('frozen'));
    let isFirst = true;
    listen(() => {
      if (!isFirst) return;
      isFirst = false;
      return new Promise((resolve) => setup.runtime.setTimer(resolve, 20_000));
    });
    const outbox = start({ leaseMs: 9_000, workerCount: 1 });
    await write(outbox, 'a1', 'a2');
    await setup.advance(10_000);
    start({ leaseMs: 9_000 });
    await setup.advance(15_000);
    expect(seen.filter((id) => id === 'a2')).toHaveLength(1);
    expect(statuses('a1', 'a2')).toEqual([DONE, DONE]);
    expect(setup.lines.some((line) => /came after the end of their lease/.test(line))).toBe(true);
  });

  it('stores hundreds of outcomes with one call', async () => {
    listen();
    const complete = jest.spyOn(setup.store, 'complete');
    const events = Array.from({ length: 400 }, (_, index) => keyed(`e${index}`, `k${index}`));
    const outbox = start();
    await setup.tx.inTransaction(() => outbox.writer.writeAll(events));
    await setup.advance(1_000);
    expect(seen).toHaveLength(400);
    expect(complete.mock.calls.length).toBeLessThan(5);
  });

  it('calls a batch listener once, with results per event', async () => {
    const calls: string[][] = [];
    setup.registry.register('ORDER', 'A', {
      onEvent: () => undefined,
      onEvents: (events: readonly EventEnvelope[]): Promise<readonly BatchResult[]> => {
        calls.push(events.map(({ eventId }) => eventId));
        return Promise.resolve(
          events.map(({ eventId }) => (eventId[0] === 'a' ? new Error('no') : undefined)),
        );
      },
    } as never);
    const outbox = start({ retryPolicy: { computeDelayMs: () => 60_000 } });
    await setup.tx.inTransaction(() =>
      outbox.writer.writeAll(['a1', 'a2', 'b1', 'b2'].map((id) => keyed(id))),
    );
    await setup.advance(100);
    expect(calls).toEqual([['a1', 'a2', 'b1', 'b2']]);
    expect(statuses('a1', 'a2', 'b1', 'b2')).toEqual([RETRY, NEW, DONE, DONE]);
    expect(setup.database.rows.get('a2')?.attempts).toBe(0);
  });

  it('takes an error that a batch listener throws for the result of all events', async () => {
    setup.registry.register('ORDER', 'A', {
      onEvent: () => undefined,
      onEvents: () => Promise.reject(new Error('no')),
    } as never);
    const outbox = start({ maxAttempts: 1 });
    await write(outbox, 'a1', 'b1');
    await setup.advance(100);
    expect(statuses('a1', 'b1')).toEqual([DEAD, DEAD]);
  });

  it('makes unroutable events DEAD, or lets them wait', async () => {
    await write(start(), 'a1');
    await setup.advance(100);
    expect(statuses('a1')).toEqual([DEAD]);
    await open[0]?.close();
    await write(start({ unroutable: 'retry' }), 'b1');
    await setup.advance(100);
    expect(statuses('b1')).toEqual([RETRY]);
  });

  it('makes an event with malformed headers DEAD and goes on', async () => {
    listen();
    const { connection } = await setup.database.getConnection();
    for (const id of ['a1', 'b1']) await setup.store.insertNew(connection, keyed(id));
    const row = setup.database.rows.get('a1');
    if (row) row.headersJson = '{secret';
    start();
    await setup.advance(100);
    expect(statuses('a1', 'b1')).toEqual([DEAD, DONE]);
    expect(setup.lines.join()).toMatch(/fatal SEVERE/);
    expect(setup.lines.join()).not.toContain('secret');
  });

  it('gives unstarted events back on close and ends after the drain time', async () => {
    listen(() => new Promise(() => undefined));
    const outbox = start({ concurrency: 1, drainTimeoutMs: 1_000 });
    await write(outbox, 'a1', 'b1');
    await setup.settle();
    const closed = outbox.close();
    await setup.advance(1_000);
    await closed;
    expect(setup.lines.at(-1)).toMatch(/^warn The outbox closed after 1000 ms/);
  });

  it('logs a failed lease and tries again', async () => {
    listen();
    jest.spyOn(setup.store, 'lease').mockRejectedValueOnce(new Error('secret'));
    const outbox = start();
    await setup.settle();
    expect(setup.lines).toEqual([expect.stringMatching(/^error The outbox could not lease/)]);
    await write(outbox, 'a1');
    await setup.advance(100);
    expect(statuses('a1')).toEqual([DONE]);
  });

  it('stores outcomes again when the database failed', async () => {
    listen();
    jest.spyOn(setup.store, 'complete').mockRejectedValueOnce(new Error('down'));
    const outbox = start();
    await write(outbox, 'a1');
    await setup.advance(2_000);
    expect(statuses('a1')).toEqual([DONE]);
    expect(seen).toEqual(['a1']);
  });

  it.each(['connectionProvider', 'txContext', 'outboxStore', 'listenerRegistry'] as const)(
    'is not built without %s',
    (field) => {
      expect(() => start({ [field]: undefined })).toThrow(field);
    },
  );

  it.each([
    { leaseMs: 0 },
    { batchSize: 0 },
    { workerCount: -1 },
    { leaseMs: 10, minLeaseLeftMs: 10 },
  ])('refuses %p', (options) => {
    expect(() => start(options)).toThrow(expect.objectContaining({ code: 'ILLEGAL_ARGUMENT' }));
  });
});
