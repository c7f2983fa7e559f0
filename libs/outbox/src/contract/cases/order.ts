import assert from 'node:assert/strict';
import type { DefineCase, StoreCase } from '../store-case.js';

const BY_KEY = { order: 'key' } as const;

export function orderCases(it: DefineCase): void {
  it('leases a whole run of a key in the order of its insertion', async (test) => {
    // The ids do not sort in the order of the insertion.
    await test.insert(...['e3', 'e1', 'e2'].map((id) => test.keyed(id)));
    assert.deepEqual(await test.leaseIds('t1', BY_KEY), ['e3', 'e1', 'e2']);
  });

  it('keeps the rest of a key back while a lease holds its head', async (test) => {
    await test.insert(test.keyed('a1'), test.keyed('a2'), test.keyed('b1', 'b'), 'none');
    assert.deepEqual(await test.leaseIds('t1', { ...BY_KEY, limit: 1 }), ['a1']);
    assert.deepEqual(await test.leaseIds('t2', BY_KEY), ['b1', 'none']);
    await test.complete('t1', { kind: 'done', eventId: 'a1' });
    assert.deepEqual(await test.leaseIds('t3', BY_KEY), ['a2']);
  });

  it('keeps the rest of a key back while its head waits for a retry', async (test) => {
    await test.insert(test.keyed('a1'), test.keyed('a2'));
    await test.lease('t1', { ...BY_KEY, limit: 1 });
    await test.complete('t1', { kind: 'retry', eventId: 'a1', delayMs: 3_600_000, error: 'x' });
    assert.deepEqual(await test.leaseIds('t2', BY_KEY), []);
  });

  it('lets a key pass its DEAD event if that does not block', async (test) => {
    await test.insert(test.keyed('a1'), test.keyed('a2'));
    await die(test, 'a1', false);
    assert.deepEqual(await test.leaseIds('t2', BY_KEY), ['a2']);
  });

  it('keeps a key behind its DEAD event until the key is unblocked', async (test) => {
    await test.insert(test.keyed('a1'), test.keyed('a2'), test.keyed('b1', 'b'));
    await die(test, 'a1', true);
    assert.deepEqual(await test.leaseIds('t2', BY_KEY), ['b1']);
    assert.deepEqual(await test.on((connection) => test.leasedStore.blockedKeys(connection, 9)), [
      { key: 'ORDER:a', eventId: 'a1', lastError: 'x', waiting: 1 },
    ]);
    assert.equal(await unblock(test), 1);
    assert.equal(await unblock(test), 0);
    assert.deepEqual(await test.leaseIds('t3', BY_KEY), ['a1', 'a2']);
  });

  it('lets a key pass after a skip, and keeps the event DEAD', async (test) => {
    await test.insert(test.keyed('a1'), test.keyed('a2'));
    await die(test, 'a1', true);
    assert.equal(await test.on((connection) => test.leasedStore.skipKey(connection, 'ORDER:a')), 1);
    assert.deepEqual(
      await test.on((connection) => test.leasedStore.blockedKeys(connection, 9)),
      [],
    );
    assert.deepEqual(await test.leaseIds('t2', BY_KEY), ['a2']);
    assert.equal(await test.on((connection) => test.store.countDead(connection)), 1);
  });

  it('has the order of the commits within a key if keys are locked', async (test) => {
    const first = await test.database.begin();
    const second = await test.database.begin();
    await test.store.insertAll(first.connection, [test.keyed('z')], { lockKeys: true });
    const blocked = test.store
      .insertAll(second.connection, [test.keyed('y')], { lockKeys: true })
      .then(() => second.commit());
    await first.commit();
    await blocked;
    assert.deepEqual(await test.leaseIds('t1', BY_KEY), ['z', 'y']);
  });

  it('lets concurrent claims never split a key', async (test) => {
    for (let index = 0; index < 10; index++)
      for (const key of ['a', 'b', 'c']) await test.insert(test.keyed(`${key}${index}`, key));
    const claims = await Promise.all(
      ['t1', 't2', 't3', 't4'].map((token) => test.leaseIds(token, { ...BY_KEY, limit: 8 })),
    );
    const owners = new Map<string, Set<number>>();
    claims.forEach((ids, owner) =>
      ids.forEach((id) =>
        owners.set(id[0] ?? '', (owners.get(id[0] ?? '') ?? new Set()).add(owner)),
      ),
    );
    for (const [key, set] of owners) assert.equal(set.size, 1, `key ${key} is in two claims`);
    for (const ids of claims)
      for (const key of ['a', 'b', 'c']) {
        const own = ids.filter((id) => id.startsWith(key));
        assert.deepEqual(
          own,
          own.map((_, index) => `${key}${index}`),
        );
      }
  });
}

async function die(test: StoreCase, eventId: string, blocksKey: boolean): Promise<void> {
  assert.deepEqual(await test.leaseIds('dying', { ...BY_KEY, limit: 1 }), [eventId]);
  await test.complete('dying', { kind: 'dead', eventId, error: 'x', blocksKey });
}

const unblock = (test: StoreCase): Promise<number> =>
  test.on((connection) => test.leasedStore.unblockKey(connection, 'ORDER:a'));
