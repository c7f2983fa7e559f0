import assert from 'node:assert/strict';
import { EventStatus } from '../../model/event-status.js';
import type { DefineCase, StoreCase } from '../store-case.js';

const SHORT_LEASE_MS = 50;

export function leaseCases(it: DefineCase): void {
  it('gives an event to one claim at a time', async (test) => {
    await test.insert('e1', 'e2');
    assert.deepEqual(await test.leaseIds('t1', { limit: 1 }), ['e1']);
    assert.deepEqual(await test.leaseIds('t2'), ['e2']);
    assert.deepEqual(await test.leaseIds('t3'), []);
  });

  it('ends at its time by the clock of the store', async (test) => {
    await test.insert('e1');
    await test.lease('t1', { leaseMs: SHORT_LEASE_MS });
    await test.database.waitFor(SHORT_LEASE_MS + 1);
    assert.deepEqual(await test.leaseIds('t2'), ['e1']);
  });

  it('holds longer after a renewal', async (test) => {
    // On a busy machine a short lease can end before its renewal.
    for (const leaseMs of [SHORT_LEASE_MS, 20 * SHORT_LEASE_MS, 400 * SHORT_LEASE_MS]) {
      const eventId = `e${leaseMs}`;
      await test.insert(eventId);
      await test.lease('t1', { leaseMs });
      if ((await renew(test, 't1')) === 0) continue;
      await test.database.waitFor(leaseMs + 1);
      assert.equal((await test.leaseIds('t2')).includes(eventId), false);
      return;
    }
    assert.fail('no lease was renewed');
  });

  it('is not renewed after its end, when another claim may take the event', async (test) => {
    await test.insert('e1');
    await test.lease('t1', { leaseMs: SHORT_LEASE_MS });
    await test.database.waitFor(SHORT_LEASE_MS + 1);
    assert.equal(await renew(test, 't1'), 0);
    assert.deepEqual(await test.leaseIds('t2'), ['e1']);
  });

  it('lets a claim change nothing after its successor took the event', async (test) => {
    await test.insert('e1');
    await test.lease('t1', { leaseMs: SHORT_LEASE_MS });
    await test.database.waitFor(SHORT_LEASE_MS + 1);
    await test.lease('t2');
    const late = await Promise.all([
      test.complete('t1', { kind: 'done', eventId: 'e1' }),
      test.complete('t1', { kind: 'retry', eventId: 'e1', delayMs: 9, error: 'x' }),
      test.complete('t1', { kind: 'dead', eventId: 'e1', error: 'x', blocksKey: true }),
    ]);
    assert.deepEqual(late, [[], [], []]);
    assert.equal(await renew(test, 't1'), 0);
    assert.equal(await start(test, 't1', 'e1'), 0);
    const { status, attempts, lockedBy } = await test.row('e1');
    assert.deepEqual([status, attempts, lockedBy], [EventStatus.NEW, 0, 't2']);
  });

  it('completes hundreds of events with different outcomes at once', async (test) => {
    const ids = Array.from({ length: 300 }, (_, index) => `e${index}`);
    await insertTogether(test, ids);
    await test.lease('t1', { limit: 300 });
    const changed = await test.complete(
      't1',
      ...ids.map((eventId, index) => outcome(eventId, index)),
    );
    assert.deepEqual([...changed].sort(), [...ids].sort());
    const rows = await test.database.readAll();
    const count = (status: EventStatus): number =>
      rows.filter((row) => row.status === status && row.lockedBy === null).length;
    assert.deepEqual(
      [EventStatus.DONE, EventStatus.RETRY, EventStatus.DEAD, EventStatus.NEW].map(count),
      [75, 75, 75, 75],
    );
  });

  it('counts an attempt for a retry, and none for an event that is given back', async (test) => {
    await test.insert('e1', 'e2');
    await test.lease('t1');
    await test.complete(
      't1',
      { kind: 'retry', eventId: 'e1', delayMs: 0, error: 'x' },
      { kind: 'released', eventId: 'e2', delayMs: 0, unfinishedAttempts: 0 },
    );
    assert.equal((await test.row('e1')).attempts, 1);
    assert.equal((await test.row('e2')).attempts, 0);
  });

  it('makes an event wait for its delay', async (test) => {
    await test.insert('e1', 'e2', 'e3');
    await test.lease('t1');
    await test.complete(
      't1',
      { kind: 'retry', eventId: 'e1', delayMs: 3_600_000, error: 'x' },
      { kind: 'released', eventId: 'e2', delayMs: 3_600_000, unfinishedAttempts: 0 },
      { kind: 'released', eventId: 'e3', delayMs: 0, unfinishedAttempts: 0 },
    );
    assert.deepEqual(await test.leaseIds('t2'), ['e3']);
  });

  it('counts attempts that were started and never ended', async (test) => {
    await test.insert('e1');
    assert.equal(await crash(test, 't1'), 0);
    assert.equal(await crash(test, 't2'), 1);
    await test.lease('t3', { leaseMs: SHORT_LEASE_MS });
    assert.equal(await start(test, 't3', 'e1'), 1);
    await test.database.waitFor(SHORT_LEASE_MS + 1);
    const [event] = await test.lease('t4');
    assert.equal(event?.unfinishedAttempts, 2);
  });

  it('forgets unfinished attempts when one ends', async (test) => {
    await test.insert('e1');
    await crash(test, 't1');
    await test.lease('t2');
    await test.complete('t2', { kind: 'retry', eventId: 'e1', delayMs: 0, error: 'x' });
    const [event] = await test.lease('t3');
    assert.equal(event?.unfinishedAttempts, 0);
  });

  it('returns one event at most that has unfinished attempts', async (test) => {
    await test.insert('e1', 'e2');
    await crash(test, 't1');
    await test.insert('e3');
    assert.deepEqual(await test.leaseIds('t2'), ['e1', 'e3']);
    assert.deepEqual(await test.leaseIds('t3'), ['e2']);
  });
}

/** Leases all events and lets the lease end. Returns the count of the first before the lease. */
async function crash(test: StoreCase, token: string): Promise<number | undefined> {
  const [event] = await test.lease(token, { leaseMs: SHORT_LEASE_MS });
  await test.database.waitFor(SHORT_LEASE_MS + 1);
  return event?.unfinishedAttempts;
}

async function insertTogether(test: StoreCase, ids: readonly string[]): Promise<void> {
  const transaction = await test.database.begin();
  await test.store.insertAll(
    transaction.connection,
    ids.map((id) => test.event(id)),
  );
  await transaction.commit();
}

function outcome(eventId: string, index: number): Parameters<StoreCase['complete']>[1] {
  const delayMs = 1_000 + index;
  switch (index % 4) {
    case 0:
      return { kind: 'done', eventId };
    case 1:
      return { kind: 'retry', eventId, delayMs, error: `error ${index}` };
    case 2:
      return { kind: 'dead', eventId, error: `error ${index}`, blocksKey: index % 8 === 2 };
    default:
      return { kind: 'released', eventId, delayMs, unfinishedAttempts: 0 };
  }
}

const renew = (test: StoreCase, token: string): Promise<number> =>
  test.on((connection) => test.leasedStore.renew(connection, token, 60_000));
const start = (test: StoreCase, token: string, eventId: string): Promise<number> =>
  test.on((connection) => test.leasedStore.markStarted(connection, token, eventId));
