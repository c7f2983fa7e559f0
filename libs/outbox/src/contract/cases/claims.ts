import assert from 'node:assert/strict';
import { START, type DefineCase, type StoreCase } from '../store-case.js';

export function claimCases(it: DefineCase): void {
  it('poll returns NEW and RETRY rows that are available, and no others', async (test) => {
    await test.insert('new', 'retry', 'later', 'done', 'dead');
    await test.on(async (connection) => {
      await test.store.markRetry(connection, 'retry', START, 'x');
      await test.store.markRetry(connection, 'later', START + 1, 'x');
      await test.store.markDone(connection, 'done');
      await test.store.markDead(connection, 'dead', 'x');
    });
    assert.deepEqual([...(await test.poll())].sort(), ['new', 'retry']);
    assert.deepEqual([...(await test.poll(START + 1))].sort(), ['later', 'new', 'retry']);
  });

  it('poll sorts by creation, then by event id', async (test) => {
    const times = { d: START, a: START + 1, c: START, b: START } as const;
    for (const [id, occurredAt] of Object.entries(times))
      await test.insert(test.event(id, { occurredAt }));
    assert.deepEqual(await test.poll(START + 1), ['b', 'c', 'd', 'a']);
    assert.deepEqual(await test.poll(START + 1, { limit: 2 }), ['b', 'c']);
  });

  it('poll leaves out rows that are more recent than skipRecent', async (test) => {
    await test.insert('e1');
    assert.deepEqual(await test.poll(START + 999, { skipRecentMs: 1_000 }), []);
    assert.deepEqual(await test.poll(START + 1_000, { skipRecentMs: 1_000 }), ['e1']);
  });

  it('returns 1,000 events of the same millisecond in the order of their ids', async (test) => {
    const ids = Array.from({ length: 1_000 }, (_, index) => String(index).padStart(4, '0'));
    const transaction = await test.database.begin();
    await test.store.insertAll(
      transaction.connection,
      ids.map((id) => test.event(id)),
    );
    await transaction.commit();
    assert.deepEqual(await test.poll(START, { limit: 1_000 }), ids);
    assert.deepEqual(await claimIds(test, 'o', { limit: 1_000 }), ids);
  });

  it('claim sets owner and time, and gives other owners nothing', async (test) => {
    await test.insert('e1', 'e2', 'e3');
    assert.deepEqual(await claimIds(test, 'first', { limit: 2 }), ['e1', 'e2']);
    const { lockedBy, lockedAt } = await test.row('e1');
    assert.deepEqual([lockedBy, lockedAt], ['first', START]);
    assert.deepEqual(await claimIds(test, 'second'), ['e3']);
    assert.deepEqual(await claimIds(test, 'third'), []);
  });

  it('claim takes a row over when its lock is older than the expiry', async (test) => {
    await test.insert('e1');
    await claimIds(test, 'first');
    assert.deepEqual(await claimIds(test, 'second', { now: START + 10, expiry: START }), []);
    assert.deepEqual(await claimIds(test, 'second', { now: START + 10, expiry: START + 1 }), [
      'e1',
    ]);
    assert.equal((await test.row('e1')).lockedBy, 'second');
  });

  it('concurrent claims never share a row', async (test) => {
    const ids = Array.from({ length: 60 }, (_, index) => `e${index}`);
    await test.insert(...ids);
    const claims = await Promise.all(
      ['a', 'b', 'c', 'd'].map((owner) => claimIds(test, owner, { limit: 20 })),
    );
    const all = claims.flat();
    assert.equal(new Set(all).size, all.length);
    let next: readonly string[];
    while ((next = await claimIds(test, 'rest', { limit: 20 })).length > 0) all.push(...next);
    assert.deepEqual([...all].sort(), [...ids].sort());
  });
}

const claimIds = (
  test: StoreCase,
  owner: string,
  { limit = 100, now = START, expiry = START } = {},
): Promise<readonly string[]> =>
  test.on(async (connection) =>
    (await test.store.claimPending(connection, owner, now, expiry, 0, limit)).map(
      ({ eventId }) => eventId,
    ),
  );
