import { VirtualRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import type { PostgresPool, SqlConnection } from './sql-clients.js';
import { sqlIdempotencyStore, type SqlIdempotencyStoreOptions } from './sql-idempotency-store.js';
import { redisIdempotencyStore, type RedisClient } from './redis-idempotency-store.js';

/** Creates a client that records its queries, and fails with these errors first. */
function recordingPool(failures: readonly object[] = []) {
  const asked: { readonly sql: string; readonly values?: unknown[] }[] = [];
  const left = [...failures];
  let failsFrom = { index: Infinity, failure: {} };
  const client: PostgresPool = {
    query: async (sql, values) => {
      asked.push({ sql, values });
      const failure = asked.length > failsFrom.index ? failsFrom.failure : left.shift();
      if (failure) throw Object.assign(new Error('refused'), failure);
      return { rows: [], rowCount: 1 };
    },
  };
  const failFrom = (index: number, failure: object): void => void (failsFrom = { index, failure });
  return { client, asked, failFrom };
}

const storeOn = (pool: { readonly client: PostgresPool }, table?: string, runtime?: Runtime) =>
  sqlIdempotencyStore({ dialect: 'postgres', client: pool.client, table, runtime });

describe('SqlIdempotencyStore', () => {
  it('binds all values, and writes only the table name into its statements', async () => {
    const pool = recordingPool();
    await storeOn(pool, 'shop.seen').claim(`'; DROP TABLE x; --`, 'me', 1.2);
    expect(pool.asked).toHaveLength(1);
    expect(pool.asked[0]!.sql).toContain('INSERT INTO shop.seen ');
    expect(pool.asked[0]!.sql).not.toContain('DROP');
    expect(pool.asked[0]!.values).toEqual([`'; DROP TABLE x; --`, 'me', 2]);
  });

  it('deletes expired rows after every 500 marks', async () => {
    const pool = recordingPool();
    const store = storeOn(pool);
    for (let index = 0; index < 999; index++) await store.complete(`${index}`, 1_000);
    const purges = () => pool.asked.filter(({ sql }) => /^DELETE .* LIMIT 1000\b/.test(sql)).length;
    expect(purges()).toBe(1);
    await store.complete('1000', 1_000);
    expect(purges()).toBe(2);
  });

  it.each<object>([
    { code: '40001' },
    { code: '40P01' },
    { code: 'ER_LOCK_DEADLOCK' },
    { code: 'ER_LOCK_WAIT_TIMEOUT' },
    { code: 'SQLITE_BUSY' },
    { code: 'ERR_SQLITE_ERROR', errcode: 5 },
  ])(
    'repeats a statement after a conflict between transactions, after growing delays, up to a limit: %j',
    async (failure) => {
      const failures = Array.from({ length: 8 }, () => failure);
      const runtime = new VirtualRuntime();
      const pool = recordingPool(failures.slice(1));
      const claimed = storeOn(pool, undefined, runtime).claim('k', 'me', 1);
      await runtime.advance(4);
      expect(pool.asked.length).toBeLessThanOrEqual(2);
      await runtime.advance(2_000);
      expect(await claimed).toBe('new');

      const hopeless = recordingPool(failures);
      const refused = expect(
        storeOn(hopeless, undefined, runtime).claim('k', 'me', 1),
      ).rejects.toMatchObject(failure);
      await runtime.advance(2_000);
      await refused;
      expect(hopeless.asked).toHaveLength(8);
    },
  );

  it('marks a record even if deleting the expired rows fails', async () => {
    const pool = recordingPool();
    const store = storeOn(pool);
    for (let index = 0; index < 499; index++) await store.complete(`${index}`, 1_000);
    pool.failFrom(pool.asked.length + 1, { code: '57014' });
    await expect(store.complete('499', 1_000)).resolves.toBe(undefined);
    await expect(store.purge()).rejects.toMatchObject({ code: '57014' });
  });

  it('rejects with any other error of the client', async () => {
    const pool = recordingPool([{ code: '42P01' }]);
    await expect(storeOn(pool).complete('k', 1)).rejects.toMatchObject({ code: '42P01' });
    expect(pool.asked).toHaveLength(1);
  });

  it('tries again to create its table if another process does so at the same time', async () => {
    await expect(storeOn(recordingPool([{ code: '23505' }])).createTable()).resolves.toBe(
      undefined,
    );
    const denied = recordingPool([{ code: '42501' }, { code: '42501' }]);
    await expect(storeOn(denied).createTable()).rejects.toMatchObject({ code: '42501' });
  });

  it.each(['', 'a b', '1a', 'a;b', 'a.b.c', `a'`, 'a'.repeat(51)])(
    'refuses the table name %j',
    (table) => {
      expect(() => storeOn(recordingPool(), table)).toThrow(/letters, digits and '_'/);
    },
  );

  it.each<[string, unknown, RegExp]>([
    ['oracle', {}, /dialects postgres, mysql, sqlite; got 'oracle'/],
    ['constructor', {}, /knows the dialects/],
    ['postgres', {}, /a Pool of pg \(npm i pg\)/],
    ['mysql', { query: () => 0 }, /mysql2\/promise \(npm i mysql2\)/],
    ['mysql', { execute: () => 0, promise: () => 0 }, /mysql2\/promise/],
    ['sqlite', {}, /better-sqlite3 \(npm i better-sqlite3\)/],
  ])(
    'refuses a wrong client or dialect, and says what it accepts: %s',
    (dialect, client, message) => {
      const connection = { dialect, client } as SqlConnection;
      expect(() => sqlIdempotencyStore(connection as SqlIdempotencyStoreOptions)).toThrow(message);
    },
  );
});

describe('redisIdempotencyStore', () => {
  it('refuses a client that would ignore NX, and therefore grant every claim', () => {
    const nodeRedis = { set: () => 0, get: () => 0, eval: () => 0, sendCommand: () => 0 };
    expect(() => redisIdempotencyStore(nodeRedis as unknown as RedisClient)).toThrow(
      /npm i ioredis/,
    );
  });
});
