import { type ConnectionProvider, IllegalArgumentError } from '@nest-event-bus/outbox';
import { OutboxDriverMissingError } from '../errors/store-errors.js';
import { PoolConnectionProvider, type SqlPool } from './pool-connection-provider.js';
import type { SqlDialectName } from './sql-session.js';

export interface OpenedSqlDatabase {
  readonly dialect: SqlDialectName;
  /** The pool of pg or mysql2, or the database of SQLite. */
  readonly pool: SqlPool;
  readonly provider: ConnectionProvider;
  close(): Promise<void>;
}

export interface OpenDatabaseOptions {
  /** The most connections of a pool. Default 10. */
  readonly maxConnections?: number;
}

type Closable = SqlPool & { end?(): Promise<void>; close?(): void };

/**
 * Opens a database by its URL: `postgres://`, `mysql://`, `mariadb://`, or `sqlite:` with the path of
 * a file. The driver is loaded only here, so an application installs only the one that it uses.
 */
export async function openSqlDatabase(
  url: string,
  { maxConnections = 10 }: OpenDatabaseOptions = {},
): Promise<OpenedSqlDatabase> {
  const [scheme = '', rest = ''] = split(url);
  const opened = await open(scheme, url, rest, maxConnections);
  if (!opened)
    throw new IllegalArgumentError(
      'The URL of the database begins with none of postgres:, mysql:, mariadb: and sqlite:. Use one of them.',
    );
  const { dialect, pool } = opened;
  return {
    dialect,
    pool,
    provider: new PoolConnectionProvider(pool),
    close: async () => {
      await pool.end?.();
      pool.close?.();
    },
  };
}

interface OpenedPool {
  readonly dialect: SqlDialectName;
  readonly pool: Closable;
}

async function open(
  scheme: string,
  url: string,
  path: string,
  maxConnections: number,
): Promise<OpenedPool | undefined> {
  switch (scheme) {
    case 'postgres':
    case 'postgresql': {
      const { Pool } = await load<PgModule>('pg', 'npm i pg', async () => import('pg'));
      const pool = new Pool({ connectionString: url, max: maxConnections });
      // Without a listener, a connection that is lost while nobody uses it would end the process.
      // The pool replaces it.
      pool.on('error', () => undefined);
      return { dialect: 'postgres', pool };
    }
    case 'mysql':
    case 'mariadb': {
      const driver = 'mysql2/promise';
      const { createPool } = await load<MysqlModule>(
        driver,
        'npm i mysql2',
        async () => import('mysql2/promise'),
      );
      const uri = url.replace(/^mariadb/, 'mysql');
      return { dialect: 'mysql', pool: createPool({ uri, connectionLimit: maxConnections }) };
    }
    case 'sqlite':
      return { dialect: 'sqlite', pool: await openSqliteFile(path) };
    default:
      return undefined;
  }
}

interface PgModule {
  readonly Pool: new (options: object) => Closable & {
    on(event: 'error', listener: () => void): unknown;
  };
}

interface MysqlModule {
  createPool(options: object): Closable;
}

type SqliteClass = new (file: string) => Closable & { exec(sql: string): unknown };

/** Uses the module of Node where it has one, else better-sqlite3. */
async function openSqliteFile(path: string): Promise<Closable> {
  const builtIn = process.getBuiltinModule?.('node:sqlite') as
    { readonly DatabaseSync: SqliteClass } | undefined;
  const Database =
    builtIn?.DatabaseSync ??
    (await load<SqliteClass>('better-sqlite3', 'npm i better-sqlite3', loadBetterSqlite));
  const database = new Database(path);
  database.exec('PRAGMA busy_timeout = 5000');
  return database;
}

/** The package has no types, and not every machine can build it. */
async function loadBetterSqlite(): Promise<unknown> {
  const name: string = 'better-sqlite3';
  const loaded = (await import(name)) as { readonly default: unknown };
  return loaded.default;
}

async function load<Module>(
  driver: string,
  install: string,
  importer: () => Promise<unknown>,
): Promise<Module> {
  try {
    const loaded = (await importer()) as { readonly default?: unknown };
    return (loaded.default ?? loaded) as Module;
  } catch (error) {
    throw new OutboxDriverMissingError(driver, install, error);
  }
}

function split(url: string): readonly string[] {
  const end = url.indexOf(':');
  return end < 0 ? [] : [url.slice(0, end), url.slice(end + 1)];
}
