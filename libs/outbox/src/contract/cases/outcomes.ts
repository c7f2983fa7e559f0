import assert from 'node:assert/strict';
import { EventStatus } from '../../model/event-status.js';
import { START, type DefineCase, type StoreCase } from '../store-case.js';

const LATER = START + 5_000;

export function outcomeCases(it: DefineCase): void {
  it('markDone sets DONE and doneAt once, and a second call changes nothing', async (test) => {
    await test.insert('e1');
    await claim(test);
    assert.equal(await markDone(test), 1);
    const row = await test.row('e1');
    assert.equal(row.status, EventStatus.DONE);
    assert.notEqual(row.doneAt, null);
    assertUnlocked(row);
    assert.equal(await markDone(test), 0);
    assert.equal((await test.row('e1')).doneAt, row.doneAt);
  });

  it('markRetry sets RETRY, adds one attempt and clears the lock', async (test) => {
    await test.insert('e1');
    await claim(test);
    assert.equal(await markRetry(test, 'first'), 1);
    assert.equal(await markRetry(test, 'second'), 1);
    const row = await test.row('e1');
    assert.deepEqual(
      [row.status, row.attempts, row.availableAt, row.lastError],
      [EventStatus.RETRY, 2, LATER, 'second'],
    );
    assertUnlocked(row);
  });

  it('markDead sets DEAD, keeps the attempts and clears the lock', async (test) => {
    await test.insert('e1');
    await markRetry(test, 'first');
    await claim(test);
    assert.equal(await markDead(test, 'last'), 1);
    const row = await test.row('e1');
    assert.deepEqual([row.status, row.attempts, row.lastError], [EventStatus.DEAD, 1, 'last']);
    assertUnlocked(row);
  });

  it('markRetry and markDead change no row that is DONE', async (test) => {
    await test.insert('e1');
    await markDone(test);
    assert.equal(await markRetry(test, 'late'), 0);
    assert.equal(await markDead(test, 'late'), 0);
    await test.hasStatus('e1', EventStatus.DONE);
  });

  it('changes nothing for an unknown event', async (test) => {
    assert.equal(await markDone(test), 0);
    assert.equal(await markRetry(test, 'no'), 0);
    assert.equal(await markDead(test, 'no'), 0);
  });

  it('cuts an error message after 4,000 characters', async (test) => {
    await test.insert('e1', 'e2');
    await markRetry(test, 'x'.repeat(5_000));
    assert.equal((await test.row('e1')).lastError?.length, 4_000);
    await markDead(test, 'y'.repeat(5_000));
    assert.equal((await test.row('e1')).lastError, 'y'.repeat(4_000));
  });
}

const markDone = (test: StoreCase): Promise<number> =>
  test.on((connection) => test.store.markDone(connection, 'e1'));
const markRetry = (test: StoreCase, error: string): Promise<number> =>
  test.on((connection) => test.store.markRetry(connection, 'e1', LATER, error));
const markDead = (test: StoreCase, error: string): Promise<number> =>
  test.on((connection) => test.store.markDead(connection, 'e1', error));
const claim = (test: StoreCase): Promise<unknown> =>
  test.on((connection) => test.store.claimPending(connection, 'o', LATER, START, 0, 1));

function assertUnlocked(row: { lockedBy: string | null; lockedAt: number | null }): void {
  assert.deepEqual([row.lockedBy, row.lockedAt], [null, null]);
}
