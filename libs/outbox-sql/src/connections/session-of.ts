import {
  IllegalArgumentError,
  type SqlConnection,
  TransactionRequiredError,
} from '@nest-event-bus/outbox';
import {
  isMysqlHandle,
  isPool,
  isPostgresHandle,
  isSqliteConnection,
  type MysqlConnection,
  mysqlConnectionOf,
  type PostgresConnection,
  type SqliteConnection,
  type SqliteStatement,
} from './driver-connections.js';
import type { SqlResult, SqlRow, SqlSession, SqlValue } from './sql-session.js';

const sessions = new WeakMap<object, SqlSession>();

/** Returns the session of a connection of a driver. A session is returned as it is. */
export function sessionOf(connection: SqlConnection): SqlSession {
  if (isSession(connection)) return connection;
  const known = sessions.get(connection);
  if (known) return known;
  const session = newSession(connection);
  sessions.set(connection, session);
  return session;
}

function newSession(connection: SqlConnection): SqlSession {
  if (isPool(connection)) throw new TransactionRequiredError('The pool that was passed');
  if (isSqliteConnection(connection)) return new SqliteSession(connection);
  if (isMysqlHandle(connection)) return new MysqlSession(mysqlConnectionOf(connection));
  if (isPostgresHandle(connection)) return new PostgresSession(connection);
  throw new IllegalArgumentError(
    'The connection is not one of pg, mysql2, better-sqlite3 or node:sqlite. Pass such a connection, or an object with `dialect` and `run`.',
  );
}

const isSession = (connection: object): connection is SqlSession =>
  'dialect' in connection && 'run' in connection && typeof connection.run === 'function';

class PostgresSession implements SqlSession {
  readonly dialect = 'postgres';

  constructor(private readonly connection: PostgresConnection) {}

  async run(sql: string, values: readonly SqlValue[]): Promise<SqlResult> {
    const result = await this.connection.query(sql, [...values]);
    return {
      rows: result.rows as readonly SqlRow[],
      changed: result.rowCount ?? result.affectedRows ?? 0,
      command: result.command,
    };
  }
}

/**
 * Lets the server prepare the statement. If the client inserted the values itself, the result would
 * depend on the server's sql_mode.
 */
class MysqlSession implements SqlSession {
  readonly dialect = 'mysql';

  constructor(private readonly connection: MysqlConnection) {}

  async run(sql: string, values: readonly SqlValue[]): Promise<SqlResult> {
    const [result] =
      values.length === 0
        ? await this.connection.query(sql)
        : await this.connection.execute(sql, values.map(mysqlValue));
    if (Array.isArray(result)) return { rows: result as readonly SqlRow[], changed: 0 };
    return { rows: [], changed: (result as { readonly affectedRows: number }).affectedRows };
  }
}

/** mysql2 sends numbers as doubles, which MySQL refuses in LIMIT, and takes only Buffers as bytes. */
function mysqlValue(value: SqlValue): unknown {
  if (typeof value === 'number') return String(value);
  return value instanceof Uint8Array && !Buffer.isBuffer(value) ? bufferOf(value) : value;
}

class SqliteSession implements SqlSession {
  readonly dialect = 'sqlite';
  readonly #prepared = new Map<string, SqliteStatement>();

  constructor(private readonly connection: SqliteConnection) {}

  async run(sql: string, values: readonly SqlValue[]): Promise<SqlResult> {
    const statement = this.#prepare(sql);
    const bound = values.map((value) =>
      value instanceof Uint8Array && !Buffer.isBuffer(value) ? bufferOf(value) : value,
    );
    if (/^\s*(SELECT|WITH|PRAGMA)|RETURNING/.test(sql)) {
      // A driver outside the realm of the caller, as in Jest, has another kind of arrays.
      const rows = [...(statement.all(...bound) as readonly SqlRow[])];
      return { rows, changed: rows.length };
    }
    return { rows: [], changed: Number(statement.run(...bound).changes) };
  }

  #prepare(sql: string): SqliteStatement {
    const known = this.#prepared.get(sql);
    if (known) return known;
    const statement = this.connection.prepare(sql);
    if (this.#prepared.size < MAX_PREPARED) this.#prepared.set(sql, statement);
    return statement;
  }
}

/** Statements that are kept per connection. */
const MAX_PREPARED = 200;

const bufferOf = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
