import assert from 'node:assert/strict';
import type { OutboxInspection } from '../../spi/outbox-inspection.js';
import { START, type DefineCase, type StoreCase } from '../store-case.js';

export function inspectionCases(it: DefineCase): void {
  it('figures counts pending and DEAD events, up to the limit, and the time since the first is due', async (test) => {
    const inspection = inspectionOf(test);
    const now = await test.database.now();
    const empty = await test.on((connection) => inspection.figures(connection, 10));
    assert.deepEqual(empty, { pending: 0, dead: 0, blockedKeys: 0, longestDueMs: 0 });
    await test.insert(
      test.event('a', { occurredAt: now - 60_000 }),
      test.event('b', { occurredAt: now - 5_000 }),
      test.event('later', { occurredAt: now + 3_600_000 }),
      ...['c', 'd'].map((id) => test.event(id, { occurredAt: now - 900_000 })),
    );
    await test.on(async (connection) => {
      await test.store.markRetry(connection, 'a', now - 30_000, 'x');
      await test.store.markDead(connection, 'c', 'x');
      await test.store.markDone(connection, 'd');
    });
    const { longestDueMs, ...counts } = await test.on((connection) =>
      inspection.figures(connection, 10),
    );
    assert.deepEqual(counts, { pending: 3, dead: 1, blockedKeys: 0 });
    assert.ok(longestDueMs >= 30_000 && longestDueMs < 330_000, `due for ${longestDueMs} ms`);
    const few = await test.on((connection) => inspection.figures(connection, 2));
    assert.equal(few.pending, 2);
  });

  it('listEvents returns pages in the order of the table, of the events that match', async (test) => {
    await test.insert('a', 'done', test.keyed('b', '1'), test.event('c', { eventType: 'DELETED' }));
    await test.insert(test.event('late', { occurredAt: START + 1 }), 'dead');
    await test.on(async (connection) => {
      await test.store.markDone(connection, 'done');
      await test.store.markDead(connection, 'dead', 'Error: no');
    });
    const pending = await list(test, { status: 'pending' });
    assert.deepEqual(ids(pending), ['a', 'b', 'c', 'late']);
    const [first, second] = await list(test, { status: 'pending', limit: 2 });
    assert.deepEqual(ids([first, second]), ['a', 'b']);
    const rest = await list(test, { status: 'pending', afterSequence: second?.sequence });
    assert.deepEqual(ids(rest), ['c', 'late']);
    const upTo = await list(test, { status: 'pending', upToSequence: second?.sequence });
    assert.deepEqual(ids(upTo), ['a', 'b']);
    assert.deepEqual(ids(await list(test, { status: 'pending', eventType: 'DELETED' })), ['c']);
    const ofKey = await list(test, {
      status: 'pending',
      aggregateType: 'ORDER',
      aggregateId: '1',
    });
    assert.deepEqual(ids(ofKey), ['b']);
    const old = await list(test, { status: 'pending', createdBefore: START + 1 });
    assert.deepEqual(ids(old), ['a', 'b', 'c']);
    const [dead] = await list(test, { status: 'dead' });
    assert.deepEqual(
      [dead?.eventId, dead?.lastError, dead?.createdAt, dead?.blocksKey],
      ['dead', 'Error: no', START, false],
    );
  });

  it('readEvent returns an event with its payload, and null for an unknown one', async (test) => {
    await test.insert(test.event('e1', { headers: { a: 'b' } }));
    const read = (eventId: string): ReturnType<OutboxInspection['readEvent']> =>
      test.on((connection) => inspectionOf(test).readEvent(connection, eventId));
    const event = await read('e1');
    assert.equal(event?.eventId, 'e1');
    assert.deepEqual(JSON.parse(String(event?.payload)), { id: 'e1' });
    assert.equal(await read('unknown'), null);
  });

  it('purgeDead deletes only events of the list that are DEAD', async (test) => {
    await test.insert('new', 'done', 'dead', 'other');
    await test.on(async (connection) => {
      await test.store.markDone(connection, 'done');
      for (const id of ['dead', 'other']) await test.store.markDead(connection, id, 'x');
    });
    const purge = (...eventIds: readonly string[]): Promise<number> =>
      test.on((connection) => inspectionOf(test).purgeDead(connection, eventIds));
    assert.equal(await purge(), 0);
    assert.equal(await purge('new', 'done', 'dead', 'unknown'), 1);
    const left = (await test.database.readAll()).map(({ eventId }) => eventId);
    assert.deepEqual(left.sort(), ['done', 'new', 'other']);
  });
}

/** The cases that need keys, which only the leased mode blocks. */
export function blockedKeyInspectionCases(it: DefineCase): void {
  it('figures counts blocked keys, and purgeDead leaves the events that block them', async (test) => {
    await test.insert(test.keyed('a', '1'), test.keyed('b', '1'), test.keyed('c', '2'));
    await test.lease('t', { order: 'key' });
    await test.complete(
      't',
      ...['a', 'c'].map(
        (eventId) => ({ kind: 'dead', eventId, error: 'x', blocksKey: true }) as const,
      ),
    );
    const inspection = inspectionOf(test);
    const { blockedKeys } = await test.on((connection) => inspection.figures(connection, 10));
    assert.equal(blockedKeys, 2);
    const [dead] = await list(test, { status: 'dead' });
    assert.equal(dead?.blocksKey, true);
    const purged = await test.on((connection) => inspection.purgeDead(connection, ['a', 'c']));
    assert.equal(purged, 0);
  });
}

function inspectionOf(test: StoreCase): OutboxInspection {
  const { inspection } = test.store;
  assert.ok(inspection);
  return inspection;
}

const list = (
  test: StoreCase,
  selection: Partial<Parameters<OutboxInspection['listEvents']>[1]> & {
    readonly status: 'pending' | 'dead';
  },
): ReturnType<OutboxInspection['listEvents']> =>
  test.on((connection) => inspectionOf(test).listEvents(connection, { limit: 100, ...selection }));

const ids = (
  events: readonly ({ readonly eventId: string } | undefined)[],
): readonly (string | undefined)[] => events.map((event) => event?.eventId);
