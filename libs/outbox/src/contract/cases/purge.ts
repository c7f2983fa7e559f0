import assert from 'node:assert/strict';
import type { StoreContractFixture } from '../fixture.js';
import { START, type DefineCase, type StoreCase } from '../store-case.js';

const FAR = 4_000_000_000_000;

export function purgeCases(it: DefineCase, { leased }: StoreContractFixture): void {
  it('the status purger deletes DONE and DEAD rows, never NEW or RETRY rows', async (test) => {
    await test.insert('new', 'retry', 'done', 'dead');
    await test.on(async (connection) => {
      await test.store.markRetry(connection, 'retry', START, 'x');
      await test.store.markDone(connection, 'done');
      await test.store.markDead(connection, 'dead', 'x');
    });
    assert.equal(await purge(test, 'status', FAR), 2);
    assert.deepEqual(await ids(test), ['new', 'retry']);
  });

  it('the status purger reads the age of DONE from doneAt and of DEAD from createdAt', async (test) => {
    await test.insert('done', 'dead');
    await test.on(async (connection) => {
      await test.store.markDone(connection, 'done');
      await test.store.markDead(connection, 'dead', 'x');
    });
    const { doneAt } = await test.row('done');
    assert.equal(await purge(test, 'status', START), 0);
    assert.equal(await purge(test, 'status', START + 1), 1);
    assert.deepEqual(await ids(test), ['done']);
    assert.equal(await purge(test, 'status', (doneAt ?? 0) + 1), 1);
  });

  it('the age purger deletes rows of every status', async (test) => {
    await test.insert('new', test.event('young', { occurredAt: START + 10 }));
    assert.equal(await purge(test, 'age', START + 1), 1);
    assert.deepEqual(await ids(test), ['young']);
  });

  it('deletes at most the limit, the oldest first', async (test) => {
    for (const index of [3, 1, 2])
      await test.insert(test.event(`e${index}`, { occurredAt: START + index }));
    assert.equal(await purge(test, 'age', FAR, 2), 2);
    assert.deepEqual(await ids(test), ['e3']);
  });

  if (leased)
    it('the status purger keeps a DEAD event that blocks its key', async (test) => {
      await test.insert(test.keyed('e1'));
      await test.lease('t');
      await test.complete('t', { kind: 'dead', eventId: 'e1', error: 'x', blocksKey: true });
      assert.equal(await purge(test, 'status', FAR), 0);
      await test.on((connection) => test.leasedStore.skipKey(connection, 'ORDER:a'));
      assert.equal(await purge(test, 'status', FAR), 1);
    });
}

const purge = (
  test: StoreCase,
  kind: 'status' | 'age',
  before: number,
  limit = 100,
): Promise<number> =>
  test.on((connection) => test.database.purgers[kind].purge(connection, before, limit));

async function ids(test: StoreCase): Promise<readonly string[]> {
  return (await test.database.readAll()).map(({ eventId }) => eventId).sort();
}
