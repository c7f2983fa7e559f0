import {
  redisIdempotencyStore,
  sqlIdempotencyStore,
  withBloomFilter,
  type SqlConnection,
} from '@nest-event-bus/core';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import { describeIdempotencyStore } from '../../../../libs/core/src/pipeline/idempotency/store-contract.spec-support.js';
import { isThere } from '../../support/index.js';

const REDIS = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
const POSTGRES = process.env['POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const MYSQL = process.env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306/test';

const table = `idempotency_${process.pid}_${Math.floor(realRuntime.random() * 1e9)}`;
const elapse = (milliseconds: number): Promise<void> => sleep(realRuntime, milliseconds);
const time = { elapse, monotonic: () => realRuntime.monotonic() };

function describeWith(what: string, missing: string | undefined, suite: () => void): void {
  if (missing === undefined) return suite();
  process.stderr.write(`SKIPPED, ${what}: ${missing}\n`);
  describe(`The store of ${what}`, () => {
    // oxlint-disable-next-line jest/no-disabled-tests
    it.skip(`is not tested: ${missing}`, () => undefined);
  });
}

const unreachable = (variable: string, url: string): string | undefined =>
  isThere(url) ? undefined : `no answer from ${new URL(url).host} (${variable})`;

interface Opened {
  readonly connection: SqlConnection;
  readonly run: (sql: string) => unknown;
  readonly end: () => unknown;
}

type ClientOf<Dialect> = Extract<SqlConnection, { dialect: Dialect }>['client'];

function openPostgres(): Opened {
  const { Pool } = require('pg') as {
    readonly Pool: new (options: object) => ClientOf<'postgres'> & { end(): Promise<void> };
  };
  const client = new Pool({ connectionString: POSTGRES, max: 10 });
  const run = (sql: string): unknown => client.query(sql);
  return { connection: { dialect: 'postgres', client }, run, end: () => client.end() };
}

function openMysql(): Opened {
  const client = createPool({ uri: MYSQL, connectionLimit: 10 });
  const run = (sql: string): unknown => client.query(sql);
  return { connection: { dialect: 'mysql', client }, run, end: () => client.end() };
}

function openSqlite(): Opened {
  const Sqlite = require('better-sqlite3') as new (
    file: string,
  ) => ClientOf<'sqlite'> & { close(): void };
  const client = new Sqlite(':memory:');
  const run = (sql: string): unknown => client.prepare(sql).run();
  return { connection: { dialect: 'sqlite', client }, run, end: () => client.close() };
}

/** Returns why SQLite is missing: its package is a native module that not every machine can build. */
function missingSqlite(): string | undefined {
  try {
    openSqlite().end();
    return undefined;
  } catch (error) {
    return `better-sqlite3 cannot be loaded: ${String(error)}`;
  }
}

describeWith('Redis', unreachable('REDIS_URL', REDIS), () => {
  describeIdempotencyStore('The store of Redis', async () => {
    const client = new Redis(REDIS);
    const prefix = `${table}:`;
    const end = async (): Promise<void> => {
      const keys = await client.keys(`${prefix}*`);
      if (keys.length > 0) await client.del(...keys);
      await client.quit();
    };
    return { store: redisIdempotencyStore(client, { prefix }), ...time, end };
  });
});

for (const [name, missing, open] of [
  ['PostgreSQL', unreachable('POSTGRES_URL', POSTGRES), openPostgres],
  ['MySQL', unreachable('MYSQL_URL', MYSQL), openMysql],
  ['SQLite', missingSqlite(), openSqlite],
] as const) {
  describeWith(name, missing, () => {
    const begin = async (suffix: string) => {
      const { connection, run, end } = open();
      const store = sqlIdempotencyStore({ ...connection, table: `${table}_${suffix}` });
      await store.createTable();
      const drop = async (): Promise<void> => {
        await run(`DROP TABLE ${table}_${suffix}`);
        await end();
      };
      return { store, connection, end: drop };
    };

    describeIdempotencyStore(`The store of ${name}`, async () => ({
      ...(await begin('contract')),
      ...time,
    }));

    describe(`The table of ${name}`, () => {
      let testTable: Awaited<ReturnType<typeof begin>>;
      beforeEach(async () => (testTable = await begin('table')));
      afterEach(() => testTable.end());

      it('may be created by several processes at once, and again', async () => {
        await Promise.all(Array.from({ length: 8 }, () => testTable.store.createTable()));
        const other = sqlIdempotencyStore({ ...testTable.connection, table: `${table}_table` });
        await other.complete('k', 60_000);
        expect(await testTable.store.claim('k', 'me', 60_000)).toBe('done');
      });

      it('is purged of expired rows only, at most a thousand at a time', async () => {
        const { store } = testTable;
        const over = Array.from({ length: 1_100 }, (_, index) => `over-${index}`);
        await Promise.all(over.map((key) => store.claim(key, 'me', 1)));
        await Promise.all(['a', 'b'].map((key) => store.complete(key, 60_000)));
        await store.claim('running', 'me', 60_000);
        await elapse(50);
        expect(await store.purge()).toBe(1_000);
        expect(await store.purge()).toBe(100);
        expect(await store.purge()).toBe(0);
        expect(await store.claim('a', 'you', 60_000)).toBe('done');
        expect(await store.claim('running', 'you', 60_000)).toBe('in-progress');
      });

      it('lists completed keys page by page', async () => {
        const { store } = testTable;
        const done = Array.from({ length: 1_050 }, (_, index) => `done-${index}`);
        await Promise.all(done.map((key) => store.complete(key, 60_000)));
        await store.claim('running', 'me', 60_000);
        await store.complete('forgotten', 1);
        await elapse(50);
        const keys: string[] = [];
        for await (const key of store.completedKeys()) keys.push(key);
        expect(keys.toSorted()).toEqual(done.toSorted());
      });

      it('accepts many claims, completions and purges at the same time', async () => {
        const { store } = testTable;
        const claims = Array.from({ length: 600 }, async (_, index) => {
          const key = `k-${index % 200}`;
          const owner = `owner-${index}`;
          const answer = await store.claim(key, owner, index % 3 === 0 ? 1 : 60_000);
          if (index % 5 === 0) await store.purge();
          if (answer !== 'new') return answer;
          await (index % 2 === 0 ? store.complete(key, 1) : store.release(key, owner));
          return answer;
        });
        const answers = new Set(await Promise.all(claims));
        expect(answers.has('new')).toBe(true);
      });

      it('gives a Bloom filter of a new process the keys that the last process completed', async () => {
        const { store } = testTable;
        await store.complete('old', 60_000);
        const filtered = await withBloomFilter(store, { expected: 100, onlyThisProcess: true });
        expect(await filtered.claim('old', 'me', 60_000)).toBe('done');
        expect(await filtered.claim('new', 'me', 60_000)).toBe('new');
        // The Bloom filter answered the claim itself, so the table has no row for this key.
        expect(await store.claim('new', 'you', 60_000)).toBe('new');
      });
    });
  });
}
