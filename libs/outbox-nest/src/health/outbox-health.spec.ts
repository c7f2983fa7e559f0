import { EventEnvelope, type OutboxFigures } from '@nest-event-bus/outbox';
import { ManualRuntime, MemoryDatabase, MemoryOutboxStore } from '@nest-event-bus/outbox/memory';
import { OutboxHealth, type OutboxHealthOptions, type OutboxState } from './outbox-health.js';

const QUIET: OutboxFigures = { pending: 0, dead: 0, blockedKeys: 0, longestDueMs: 0 };

describe('OutboxHealth', () => {
  let state: OutboxState;
  let runtime: ManualRuntime;
  let database: MemoryDatabase;
  let store: MemoryOutboxStore;
  beforeEach(() => {
    state = 'running';
    runtime = new ManualRuntime();
    database = new MemoryDatabase();
    store = new MemoryOutboxStore(database, runtime);
  });

  const health = (options?: OutboxHealthOptions, dispatches = true): OutboxHealth =>
    new OutboxHealth(
      { state: () => state, connectionProvider: database, store, dispatches, runtime },
      options,
    );

  const withFigures = (figures: Partial<OutboxFigures>): jest.SpyInstance =>
    jest.spyOn(store.inspection, 'figures').mockResolvedValue({ ...QUIET, ...figures });

  it('is UP if nothing waits for too long', async () => {
    expect(await health().check()).toEqual({
      status: 'UP',
      state: 'running',
      reasons: [],
      figures: QUIET,
    });
  });

  it('is degraded while an event is due for longer than maxDueMs, and recovers by itself', async () => {
    const { connection } = await database.getConnection();
    await store.insertNew(
      connection,
      new EventEnvelope({
        eventId: 'e1',
        eventType: 'A',
        payloadJson: '1',
        occurredAt: runtime.now(),
      }),
    );
    const watched = health({ maxDueMs: 10_000 });
    await runtime.advance(10_000);
    expect(await watched.check()).toMatchObject({ status: 'UP', figures: { pending: 1 } });
    await runtime.advance(2_000);
    expect(await watched.check()).toMatchObject({
      status: 'DEGRADED',
      reasons: [expect.stringMatching(/^an event has been due for 12 seconds/)],
    });
    await store.markDone(connection, 'e1');
    expect(await watched.check()).toMatchObject({ status: 'UP', reasons: [] });
  });

  it.each<[Partial<OutboxFigures>, OutboxHealthOptions, RegExp]>([
    [{ dead: 1 }, {}, /^1 events are DEAD/],
    [{ dead: 3 }, { maxDead: 2, maxPending: 2 }, /^at least 3 events are DEAD/],
    [{ blockedKeys: 2 }, {}, /^2 keys are blocked/],
    [{ pending: 100_001 }, {}, /^more than 100000 events wait/],
    [{ pending: 6 }, { maxPending: 5 }, /^more than 5 events wait/],
    [{ longestDueMs: 60_001 }, {}, /^an event has been due for 60 seconds/],
  ])('is degraded with %p and the options %p', async (figures, options, reason) => {
    withFigures(figures);
    const report = await health(options).check();
    expect(report).toMatchObject({ status: 'DEGRADED', reasons: [expect.stringMatching(reason)] });
  });

  it('is UP at the limits themselves', async () => {
    withFigures({ dead: 2, pending: 5, longestDueMs: 10 });
    const report = await health({ maxDead: 2, maxPending: 5, maxDueMs: 10 }).check();
    expect(report.status).toBe('UP');
  });

  it('counts no further than its limits need', async () => {
    const figures = withFigures({});
    await health({ maxPending: 7, maxDead: 3 }).check();
    expect(figures.mock.calls[0]?.[1]).toBe(8);
  });

  it('judges no backlog if another program reads the table', async () => {
    withFigures({ dead: 1, pending: 1_000_000, longestDueMs: 1e9 });
    expect(await health({}, false).check()).toMatchObject({ status: 'UP' });
  });

  it.each<OutboxState>(['starting', 'stopped'])('is DOWN while the outbox is %s', async (is) => {
    state = is;
    expect(await health().check()).toMatchObject({ status: 'DOWN', state: is, figures: null });
  });

  it('is DOWN if the table cannot be read, and shows the code and no message of the driver', async () => {
    const failure = Object.assign(new Error('secret host'), { code: 'ECONNREFUSED' });
    const failing = jest.spyOn(database, 'getConnection').mockRejectedValueOnce(failure);
    const report = await health().check();
    expect(report).toMatchObject({
      status: 'DOWN',
      reasons: [expect.stringContaining('ECONNREFUSED')],
    });
    expect(JSON.stringify(report)).not.toContain('secret');
    failing.mockRestore();
    expect(await health().check()).toMatchObject({ status: 'UP' });
  });

  it('is DOWN if the database hangs, takes one connection for all calls, and recovers', async () => {
    let answer: () => void = () => undefined;
    const figures = jest
      .spyOn(store.inspection, 'figures')
      .mockImplementation(() => new Promise((resolve) => (answer = () => resolve(QUIET))));
    const watched = health({ timeoutMs: 1_000 });
    for (let call = 0; call < 3; call++) {
      const report = watched.check();
      await runtime.advance(1_000);
      expect(await report).toMatchObject({
        status: 'DOWN',
        reasons: [expect.stringContaining('within 1000 ms')],
      });
    }
    expect(figures).toHaveBeenCalledTimes(1);
    answer();
    await runtime.settle();
    figures.mockResolvedValue(QUIET);
    expect(await watched.check()).toMatchObject({ status: 'UP' });
  });

  it('asks a store without an inspection only whether its table can be read', async () => {
    Object.defineProperty(store, 'inspection', { value: undefined });
    expect(await health().check()).toMatchObject({ status: 'UP', figures: null });
    jest.spyOn(store, 'pollPending').mockRejectedValue(new Error('no'));
    expect(await health().check()).toMatchObject({ status: 'DOWN' });
  });

  it('refuses limits that are no numbers', () => {
    expect(() => health({ maxDueMs: -1 })).toThrow(
      expect.objectContaining({ code: 'ILLEGAL_ARGUMENT' }),
    );
  });
});
