import {
  type ConnectionProvider,
  IllegalArgumentError,
  type ProvidedConnection,
} from '@nest-event-bus/outbox';
import { translateError } from '../errors/translate-error.js';
import {
  isSqliteConnection,
  mysqlConnectionOf,
  type SqliteConnection,
} from './driver-connections.js';
import { sqliteMutexOf } from './sqlite-mutex.js';

/** The part of a `Pool` of pg that is used. */
export interface PostgresPool {
  connect(): Promise<PostgresPoolClient>;
}

/** The part of a `PoolClient` of pg that is used. */
export interface PostgresPoolClient {
  release(error?: Error | boolean): void;
  on?(event: 'error', listener: (error: Error) => void): unknown;
  removeListener?(event: 'error', listener: (error: Error) => void): unknown;
}

/** The part of a pool of mysql2/promise that is used. */
export interface MysqlPool {
  getConnection(): Promise<{ release(): void; destroy(): void }>;
}

export type SqlPool = PostgresPool | MysqlPool | SqliteConnection;

/**
 * Provides short-lived connections of a pool. For SQLite it provides the one connection that there
 * is, to one user at a time.
 */
export class PoolConnectionProvider implements ConnectionProvider {
  readonly #open: () => Promise<ProvidedConnection>;

  constructor(pool: SqlPool) {
    this.#open = openerOf(pool);
  }

  async getConnection(): Promise<ProvidedConnection> {
    try {
      return await this.#open();
    } catch (error) {
      throw translateError(error, 'Opening a connection', 'of the outbox');
    }
  }
}

function openerOf(pool: SqlPool): () => Promise<ProvidedConnection> {
  if (isSqliteConnection(pool)) return () => sqliteConnection(pool);
  if ('getConnection' in pool) return () => mysqlConnection(withPromises(pool));
  if ('connect' in pool) return () => postgresConnection(pool);
  throw new IllegalArgumentError(
    'The pool is not one of pg or mysql2, and no database of better-sqlite3 or node:sqlite. Pass such a pool.',
  );
}

/**
 * A connection after an error may be in any state, so the pool discards it. If the server ends a
 * connection between two statements, pg emits an error that would end the process without a
 * listener. The next statement on the connection fails and reports it.
 */
async function postgresConnection(pool: PostgresPool): Promise<ProvidedConnection> {
  const client = await pool.connect();
  let lost: Error | undefined;
  const onError = (error: Error): void => {
    lost ??= error;
  };
  client.on?.('error', onError);
  return {
    connection: client,
    release: (error) => {
      client.removeListener?.('error', onError);
      client.release(error ?? lost);
    },
  };
}

async function mysqlConnection(pool: MysqlPool): Promise<ProvidedConnection> {
  const connection = await pool.getConnection();
  return {
    connection,
    release: (error) => (error ? connection.destroy() : connection.release()),
  };
}

async function sqliteConnection(database: SqliteConnection): Promise<ProvidedConnection> {
  const release = await sqliteMutexOf(database).acquire();
  return { connection: database, release };
}

/** Pools of mysql2 with callbacks have a method that returns the one with promises. */
const withPromises = (pool: MysqlPool): MysqlPool =>
  mysqlConnectionOf(pool) as unknown as MysqlPool;
