import { EventEnvelope, EventStatus } from '@nest-event-bus/outbox';
import { ManualRuntime, MemoryDatabase, MemoryOutboxStore } from '@nest-event-bus/outbox/memory';
import type { OutboxCommand } from './command-log.js';
import { OutboxAdmin } from './outbox-admin.js';

describe('OutboxAdmin', () => {
  let runtime: ManualRuntime;
  let database: MemoryDatabase;
  let store: MemoryOutboxStore;
  let admin: OutboxAdmin;
  let commands: OutboxCommand[];
  let lines: string[];
  let wake: jest.Mock;
  beforeEach(() => {
    runtime = new ManualRuntime();
    database = new MemoryDatabase();
    store = new MemoryOutboxStore(database, runtime);
    commands = [];
    lines = [];
    wake = jest.fn();
    const line = (text: string): void => void lines.push(text);
    admin = new OutboxAdmin({
      ...{ connectionProvider: database, store, runtime, wake },
      logger: { log: line, warn: line, error: line },
      onCommand: (command) => commands.push(command),
    });
  });

  async function insert(eventId: string, input: object = {}): Promise<void> {
    const { connection } = await database.getConnection();
    const event = { eventId, eventType: 'A', payloadJson: '"secret"', occurredAt: runtime.now() };
    await store.insertNew(connection, new EventEnvelope({ ...event, ...input }));
  }

  async function kill(eventId: string, error = 'TypeError: no', input: object = {}): Promise<void> {
    await insert(eventId, input);
    await store.markDead(database, eventId, error);
  }

  const status = (eventId: string): EventStatus | undefined => database.rows.get(eventId)?.status;

  it('lists pages of DEAD and of pending events, without payloads', async () => {
    for (const id of ['a', 'b', 'c']) await kill(id);
    await insert('new');
    const first = await admin.list({ status: 'dead', limit: 2 });
    expect(first.events.map(({ eventId }) => eventId)).toEqual(['a', 'b']);
    const second = await admin.list({ status: 'dead', limit: 2, afterSequence: first.next ?? 0 });
    expect([second.events.map(({ eventId }) => eventId), second.next]).toEqual([['c'], null]);
    const pending = await admin.list({ status: 'pending', limit: 5_000 });
    expect(pending.events.map(({ eventId }) => eventId)).toEqual(['new']);
    expect(JSON.stringify([first, pending])).not.toContain('secret');
  });

  it('shows one event with its payload, and names one that is not there', async () => {
    await kill('a');
    expect((await admin.show('a')).payload).toBe('"secret"');
    await expect(admin.show('x')).rejects.toMatchObject({ code: 'OUTBOX_EVENT_NOT_FOUND' });
  });

  it('groups DEAD events by type and cause, whatever numbers and names a message has', async () => {
    await kill('a', "HttpError: order 17 of 'bob' was refused");
    await runtime.advance(10);
    await kill('b', "HttpError: order 4711 of 'alice' was refused");
    await kill('c', 'TypeError: x is not a function');
    await kill('d', "HttpError: order 17 of 'bob' was refused", { eventType: 'B' });
    const { groups, isComplete } = await admin.groups();
    expect(isComplete).toBe(true);
    expect(groups.map(({ error, eventType, count }) => [error, eventType, count])).toEqual(
      expect.arrayContaining([
        ['HttpError', 'A', 2],
        ['TypeError', 'A', 1],
        ['HttpError', 'B', 1],
      ]),
    );
    expect(groups[0]).toMatchObject({
      count: 2,
      eventId: 'a',
      firstCreatedAt: runtime.now() - 10,
      lastCreatedAt: runtime.now(),
    });
  });

  it('replays the events of a plan at its rate, in their order, and wakes the outbox', async () => {
    const replayed: string[] = [];
    const replayDead = store.replayDead.bind(store);
    jest.spyOn(store, 'replayDead').mockImplementation((connection, eventId, now) => {
      replayed.push(eventId);
      return replayDead(connection, eventId, now);
    });
    for (let index = 10; index < 40; index++) await kill(`e${index}`);
    const plan = await admin.plan();
    const { id } = await admin.redrive(plan, { rate: 10 });
    await runtime.settle();
    expect(admin.operation(id)).toMatchObject({ state: 'running', total: 30 });
    await runtime.advance(1_000);
    expect(replayed.length).toBeGreaterThanOrEqual(10);
    expect(replayed.length).toBeLessThanOrEqual(12);
    await runtime.advance(2_500);
    expect(admin.operation(id)).toMatchObject({ state: 'completed', replayed: 30, skipped: 0 });
    expect(replayed).toEqual(Array.from({ length: 30 }, (_, index) => `e${index + 10}`));
    expect(wake).toHaveBeenCalled();
    expect(status('e10')).toBe(EventStatus.NEW);
  });

  it('replays only the events that the plan has shown', async () => {
    await kill('a');
    await insert('dies-later');
    await kill('b');
    const plan = await admin.plan();
    await kill('after-the-plan');
    await admin.redrive(plan);
    await runtime.advance(100);
    expect([status('a'), status('after-the-plan')]).toEqual([EventStatus.NEW, EventStatus.DEAD]);
  });

  it('changes nothing if the events of the plan have changed', async () => {
    await kill('a');
    await insert('dies-later');
    await kill('b');
    const plan = await admin.plan();
    await store.markDead(database, 'dies-later', 'x');
    await expect(admin.redrive(plan)).rejects.toMatchObject({ code: 'OUTBOX_PLAN_CHANGED' });
    await expect(admin.purge(plan)).rejects.toMatchObject({ code: 'OUTBOX_PLAN_CHANGED' });
    await expect(admin.purge({ id: 'x', selection: {} })).rejects.toMatchObject({
      code: 'ILLEGAL_ARGUMENT',
    });
    expect([status('a'), status('b')]).toEqual([EventStatus.DEAD, EventStatus.DEAD]);
  });

  it('plans and replays one group of cause alone', async () => {
    await kill('a', 'HttpError: no');
    await kill('b', 'TypeError: no');
    const { groups } = await admin.groups();
    const group = groups.find(({ error }) => error === 'TypeError')?.id;
    const plan = await admin.plan({ group });
    expect(plan).toMatchObject({ count: 1, isComplete: true, blocking: 0 });
    await admin.redrive(plan);
    await runtime.advance(100);
    expect([status('a'), status('b')]).toEqual([EventStatus.DEAD, EventStatus.NEW]);
  });

  it('holds at most 10,000 events in a plan, and says that there are more', async () => {
    const all = Array.from({ length: 10_050 }, (_, index) => `e${index}`);
    for (const id of all) await kill(id);
    const plan = await admin.plan();
    expect(plan).toMatchObject({ count: 10_000, isComplete: false });
    expect(await admin.purge(plan)).toBe(10_000);
    expect(database.rows.size).toBe(50);
  });

  it('purges the events of a plan, and never one that blocks its key', async () => {
    await insert('a', { aggregateType: 'ORDER', aggregateId: '1' });
    await store.lease(database, { token: 't', leaseMs: 1_000, limit: 1, order: 'key' });
    await store.complete(database, 't', [
      { kind: 'dead', eventId: 'a', error: 'x', blocksKey: true },
    ]);
    await kill('b');
    const plan = await admin.plan();
    expect(plan).toMatchObject({ count: 2, blocking: 1 });
    expect(await admin.purge(plan)).toBe(1);
    expect([...database.rows.keys()]).toEqual(['a']);
  });

  it.each(['unblockKey', 'skipKey'] as const)(
    'lists blocked keys, and %s frees one',
    async (how) => {
      await insert('a', { aggregateType: 'ORDER', aggregateId: '1' });
      await insert('b', { aggregateType: 'ORDER', aggregateId: '1' });
      await store.lease(database, { token: 't', leaseMs: 1_000, limit: 1, order: 'key' });
      await store.complete(database, 't', [
        { kind: 'dead', eventId: 'a', error: 'x', blocksKey: true },
      ]);
      expect(await admin.blockedKeys()).toEqual([
        { key: 'ORDER:1', eventId: 'a', lastError: 'x', waiting: 1 },
      ]);
      expect(await admin[how]('ORDER:1')).toBe(1);
      expect(wake).toHaveBeenCalledTimes(1);
      expect(await admin.blockedKeys()).toEqual([]);
      expect(status('a')).toBe(how === 'skipKey' ? EventStatus.DEAD : EventStatus.NEW);
    },
  );

  it('cancels a redrive, which leaves the rest DEAD', async () => {
    for (let index = 0; index < 20; index++) await kill(`e${index}`);
    const { id } = await admin.redrive(await admin.plan(), { rate: 10 });
    await runtime.advance(500);
    const cancelled = await admin.cancel(id);
    expect(cancelled).toMatchObject({ state: 'cancelled' });
    await runtime.advance(10_000);
    expect(admin.operation(id)).toEqual(cancelled);
    expect(status('e19')).toBe(EventStatus.DEAD);
    expect(() => admin.operation('x')).toThrow(
      expect.objectContaining({ code: 'OUTBOX_OPERATION_NOT_FOUND' }),
    );
  });

  it('ends its redrives when it is closed', async () => {
    for (let index = 0; index < 20; index++) await kill(`e${index}`);
    await admin.redrive(await admin.plan(), { rate: 1 });
    await admin.close();
    expect(admin.operations()).toEqual([expect.objectContaining({ state: 'cancelled' })]);
  });

  it('says when a redrive has failed, and counts events that were no longer DEAD', async () => {
    for (const id of ['a', 'b', 'c']) await kill(id);
    const plan = await admin.plan();
    jest
      .spyOn(store, 'replayDead')
      .mockResolvedValueOnce(0)
      .mockRejectedValueOnce(new RangeError('secret'));
    const { id } = await admin.redrive(plan);
    await runtime.advance(100);
    expect(admin.operation(id)).toMatchObject({ state: 'failed', skipped: 1, error: 'RangeError' });
  });

  it('does not make up for the time of a statement that hung', async () => {
    for (let index = 0; index < 100; index++) await kill(`e${index}`);
    const replay = jest.spyOn(store, 'replayDead').mockImplementationOnce(async () => {
      await new Promise((resolve) => runtime.setTimer(() => resolve(0), 60_000));
      return 1;
    });
    await admin.redrive(await admin.plan(), { rate: 10 });
    await runtime.advance(60_000);
    expect(replay.mock.calls.length).toBeLessThanOrEqual(10);
  });

  it('closes although the statement of a redrive hangs, and says so', async () => {
    await kill('a');
    jest.spyOn(store, 'replayDead').mockReturnValue(new Promise(() => undefined));
    await admin.redrive(await admin.plan());
    let isClosed = false;
    void admin.close().then(() => (isClosed = true));
    await runtime.advance(4_999);
    expect(isClosed).toBe(false);
    await runtime.advance(1);
    expect(isClosed).toBe(true);
    expect(lines.at(-1)).toContain('5000 ms');
  });

  it('audits the start and the end of a redrive', async () => {
    for (const id of ['a', 'b']) await kill(id);
    const note = { by: 'alice', reason: 'fixed' };
    const { id } = await admin.redrive(await admin.plan(), { rate: 1, ...note });
    expect(commands.slice(1)).toMatchObject([
      { command: 'redrive', outcome: 'started', events: 2 },
    ]);
    await runtime.settle();
    await admin.cancel(id);
    await admin.redrive(await admin.plan(), note);
    await runtime.advance(100);
    await kill('c');
    jest.spyOn(store, 'replayDead').mockRejectedValueOnce(new RangeError('secret'));
    await admin.redrive(await admin.plan(), note);
    await runtime.advance(100);
    const ends = commands.filter(
      ({ command, outcome }) => command === 'redrive' && outcome !== 'started',
    );
    expect(ends).toMatchObject([
      { ...note, outcome: 'cancelled', events: 1 },
      { ...note, outcome: 'done', events: 1 },
      { ...note, outcome: 'failed', events: 0, code: 'UNKNOWN' },
    ]);
  });

  it('audits the start of a redrive without events before its end', async () => {
    await admin.redrive(await admin.plan());
    await runtime.settle();
    expect(commands.map(({ outcome }) => outcome)).toEqual(['done', 'started', 'done']);
  });

  it('audits how many events a purge has deleted before it failed', async () => {
    for (let index = 0; index < 501; index++) await kill(`e${index}`);
    const plan = await admin.plan();
    const { inspection } = store;
    const purgeDead = inspection.purgeDead.bind(inspection);
    jest
      .spyOn(inspection, 'purgeDead')
      .mockImplementationOnce(purgeDead)
      .mockRejectedValueOnce(new Error('database gone'));
    await expect(admin.purge(plan)).rejects.toThrow('database gone');
    expect(commands.at(-1)).toMatchObject({ command: 'purge', outcome: 'failed', events: 500 });
  });

  it.each([0, -1, 10_001, Number.NaN])('refuses the rate %p', async (rate) => {
    await expect(admin.redrive(await admin.plan(), { rate })).rejects.toMatchObject({
      code: 'ILLEGAL_ARGUMENT',
    });
  });

  it('audits who gave a command, why, and how it ended, on one line each', async () => {
    await kill('a');
    const plan = await admin.plan({}, { by: 'alice', reason: 'look\nfirst' });
    await admin.purge(plan, { by: 'alice', reason: 'test data' });
    await admin.purge(plan, { by: 'bob' }).catch(() => undefined);
    expect(commands).toMatchObject([
      { command: 'plan', by: 'alice', outcome: 'done', events: 1 },
      { command: 'purge', by: 'alice', reason: 'test data', subject: plan.id, events: 1 },
      { command: 'purge', by: 'bob', outcome: 'failed', code: 'OUTBOX_PLAN_CHANGED' },
    ]);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).not.toContain('\n');
  });

  it('is not changed by a listener of commands that throws', async () => {
    const broken = new OutboxAdmin({
      ...{ connectionProvider: database, store, runtime, wake },
      logger: { log: jest.fn(), warn: jest.fn(), error: (line) => lines.push(line) },
      onCommand: () => {
        throw new RangeError('secret');
      },
    });
    expect(await broken.plan()).toMatchObject({ count: 0 });
    expect(lines).toEqual([expect.stringContaining('RangeError')]);
  });

  it('names what a store of your own does not have', async () => {
    Object.defineProperty(store, 'inspection', { value: undefined });
    await expect(admin.plan()).rejects.toMatchObject({
      code: 'OUTBOX_STORE_OPERATION_UNSUPPORTED',
    });
  });
});
