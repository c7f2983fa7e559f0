import assert from 'node:assert/strict';
import { EventStatus } from '../../model/event-status.js';
import type { DeadEventQuery } from '../../spi/outbox-store.js';
import { START, type DefineCase, type StoreCase } from '../store-case.js';

export function deadEventCases(it: DefineCase): void {
  it('queryDead returns DEAD rows of a type or an aggregate, the oldest first', async (test) => {
    await insertDead(test);
    await test.insert('alive');
    assert.deepEqual(await query(test, { limit: 10 }), ['a', 'b', 'c']);
    assert.deepEqual(await query(test, { limit: 2 }), ['a', 'b']);
    assert.deepEqual(await query(test, { limit: 10, eventType: 'DELETED' }), ['c']);
    assert.deepEqual(await query(test, { limit: 10, aggregateType: 'ORDER' }), ['b']);
  });

  it('countDead counts all DEAD rows, or those of a type', async (test) => {
    await insertDead(test);
    await test.insert('alive');
    assert.equal(await test.on((connection) => test.store.countDead(connection)), 3);
    assert.equal(await test.on((connection) => test.store.countDead(connection, 'DELETED')), 1);
  });

  it('replayDead makes a DEAD row NEW with no attempts and available now', async (test) => {
    await test.insert('e1');
    await test.on(async (connection) => {
      await test.store.markRetry(connection, 'e1', START + 60_000, 'x');
      await test.store.markDead(connection, 'e1', 'y');
    });
    assert.equal(await replay(test, 'e1'), 1);
    const { status, attempts, availableAt, lastError, createdAt } = await test.row('e1');
    assert.deepEqual(
      [status, attempts, availableAt, lastError, createdAt],
      [EventStatus.NEW, 0, START + 1, null, START],
    );
  });

  it('replayDead changes no row that is not DEAD', async (test) => {
    await test.insert('new', 'done');
    await test.on((connection) => test.store.markDone(connection, 'done'));
    assert.equal(await replay(test, 'new'), 0);
    assert.equal(await replay(test, 'done'), 0);
    assert.equal(await replay(test, 'unknown'), 0);
    await test.hasStatus('done', EventStatus.DONE);
  });
}

async function insertDead(test: StoreCase): Promise<void> {
  await test.insert(
    test.event('c', { occurredAt: START + 2, eventType: 'DELETED' }),
    test.event('a'),
    test.event('b', { occurredAt: START + 1, aggregateType: 'ORDER' }),
  );
  await test.on(async (connection) => {
    for (const id of ['a', 'b', 'c']) await test.store.markDead(connection, id, 'x');
  });
}

const query = (test: StoreCase, dead: DeadEventQuery): Promise<readonly string[]> =>
  test.on(async (connection) =>
    (await test.store.queryDead(connection, dead)).map(({ eventId }) => eventId),
  );
const replay = (test: StoreCase, id: string): Promise<number> =>
  test.on((connection) => test.store.replayDead(connection, id, START + 1));
