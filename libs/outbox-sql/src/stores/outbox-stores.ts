import { IllegalArgumentError, type JsonCodec } from '@nest-event-bus/outbox';
import {
  isMysqlHandle,
  isPostgresHandle,
  isSqliteConnection,
} from '../connections/driver-connections.js';
import type { SqlDialectName } from '../connections/sql-session.js';
import type { AbstractSqlOutboxStore, SqlOutboxStoreOptions } from './abstract-sql-outbox-store.js';
import { MySqlOutboxStore } from './mysql-outbox-store.js';
import { PostgresOutboxStore } from './postgres-outbox-store.js';
import { SqliteOutboxStore } from './sqlite-outbox-store.js';

/** Recognises the handle of a database, and makes the store for it. */
export interface OutboxStoreProvider {
  /** The database: a pool or connection of a driver, an object with TypeORM's options, or a URL. */
  matches(handle: unknown): boolean;
  create(options: SqlOutboxStoreOptions): AbstractSqlOutboxStore;
}

/** Other names of the dialects: of TypeORM, Knex, MikroORM, Drizzle, Kysely and of URLs. */
const DIALECT_NAMES: Readonly<Record<SqlDialectName, RegExp>> = {
  postgres: /^(postgres|postgresql|pg|pglite|cockroachdb|aurora-postgres)$/i,
  mysql: /^(mysql|mysql2|mariadb|tidb|aurora-mysql)$/i,
  sqlite: /^(sqlite|sqlite3|better-sqlite3|file)$/i,
};

const providers: OutboxStoreProvider[] = [
  {
    matches: (handle) => dialectOf(handle) === 'postgres',
    create: (options) => new PostgresOutboxStore(options),
  },
  {
    matches: (handle) => dialectOf(handle) === 'mysql',
    create: (options) => new MySqlOutboxStore(options),
  },
  {
    matches: (handle) => dialectOf(handle) === 'sqlite',
    create: (options) => new SqliteOutboxStore(options),
  },
];

/** Finds the store for a database. */
export const OutboxStores = Object.freeze({
  /** Adds a store of your own. It is asked before those that are known. */
  register(provider: OutboxStoreProvider): void {
    providers.unshift(provider);
  },

  /** Returns the store for a pool, a connection, a data source or a URL. */
  detect(handle: unknown, options: JsonCodec | SqlOutboxStoreOptions = {}): AbstractSqlOutboxStore {
    const provider = providers.find(({ matches }) => matches(handle));
    if (!provider)
      throw new IllegalArgumentError(
        'The database is not one of PostgreSQL, MySQL, MariaDB or SQLite. Pass a pool of pg or mysql2, a database of better-sqlite3 or node:sqlite, or make the store yourself.',
      );
    return provider.create('toJson' in options ? { codec: options } : options);
  },
});

/** Returns the dialect of a pool, a connection, a data source or a URL. */
export function dialectOf(handle: unknown): SqlDialectName | undefined {
  if (typeof handle === 'string') return dialectNamed(handle.split(':', 1)[0]);
  if (typeof handle !== 'object' || handle === null) return undefined;
  const { dialect, options } = handle as {
    readonly dialect?: unknown;
    readonly options?: { readonly type?: unknown };
  };
  return dialectNamed(dialect) ?? dialectNamed(options?.type) ?? dialectOfDriver(handle);
}

function dialectNamed(name: unknown): SqlDialectName | undefined {
  if (typeof name !== 'string') return undefined;
  const names = Object.entries(DIALECT_NAMES) as [SqlDialectName, RegExp][];
  return names.find(([, pattern]) => pattern.test(name))?.[0];
}

function dialectOfDriver(handle: object): SqlDialectName | undefined {
  if (isSqliteConnection(handle)) return 'sqlite';
  if (isMysqlHandle(handle)) return 'mysql';
  return isPostgresHandle(handle) ? 'postgres' : undefined;
}
