import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SqlSession } from '../index.js';
import { PoolConnectionProvider, type SqliteConnection } from '../index.js';
import { sessionOf } from '../connections/session-of.js';
import { sqliteMutexOf } from '../connections/sqlite-mutex.js';
import type { OpenedDatabase } from './contract-database.spec-support.js';

type Database = SqliteConnection & { close(): void };

/** Opens a database with better-sqlite3, or with node:sqlite where Node has it. */
export function openSqlite(
  driver: 'better-sqlite3' | 'node:sqlite' = 'better-sqlite3',
  file = ':memory:',
): Database {
  if (driver === 'node:sqlite') {
    const { DatabaseSync } = process.getBuiltinModule(driver) as unknown as {
      readonly DatabaseSync: new (file: string) => Database;
    };
    return new DatabaseSync(file);
  }
  const BetterSqlite = require(driver) as new (file: string) => Database;
  return new BetterSqlite(file);
}

export function missingDriver(driver: 'better-sqlite3' | 'node:sqlite'): string | undefined {
  try {
    openSqlite(driver).close();
    return undefined;
  } catch (error) {
    return `${driver} cannot be loaded: ${String(error)}`;
  }
}

/** Opens a file with a connection for transactions, and another one that sees what is committed. */
export function sqliteDatabase(driver: 'better-sqlite3' | 'node:sqlite'): OpenedDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
  const [database, writer] = ['a', 'b'].map(() => openSqlite(driver, join(folder, 'test.db')));
  if (!database || !writer) throw new Error('no database');
  database.exec('PRAGMA journal_mode = WAL');
  return {
    dialect: 'sqlite',
    provider: new PoolConnectionProvider(database),
    begin: () => Promise.resolve(lazyTransaction(writer)),
    close: () => {
      database.close();
      writer.close();
      rmSync(folder, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

/** A transaction begins with its first statement, so that two of them can be open and not wait. */
function lazyTransaction(database: Database): Awaited<ReturnType<OpenedDatabase['begin']>> {
  const session = sessionOf(database);
  let release: (() => void) | undefined;
  const connection: SqlSession = {
    dialect: 'sqlite',
    run: async (sql, values) => {
      if (!release) {
        release = await sqliteMutexOf(database).acquire();
        await session.run('BEGIN IMMEDIATE', []);
      }
      return session.run(sql, values);
    },
  };
  const end = async (statement: string): Promise<void> => {
    if (release) await session.run(statement, []);
    release?.();
  };
  return { connection, commit: () => end('COMMIT'), rollback: () => end('ROLLBACK') };
}
