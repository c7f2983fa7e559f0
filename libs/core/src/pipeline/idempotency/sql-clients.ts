import type { SqlDialectName } from './sql-dialects.js';

/** The part of a `Pool` of pg that is used. */
export interface PostgresPool {
  query(
    sql: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>;
}

/** The part of a pool of mysql2/promise that is used. */
export interface MysqlPool {
  execute(sql: string, values?: (string | number)[]): Promise<readonly [unknown, ...unknown[]]>;
}

/** The part of a `Database` of better-sqlite3, or of a `DatabaseSync` of `node:sqlite`, that is used. */
export interface SqliteDatabase {
  prepare(sql: string): {
    run(...values: (string | number)[]): { readonly changes: number | bigint };
    all(...values: (string | number)[]): readonly unknown[];
  };
}

/** The client of the application, and the SQL dialect of its database. */
export type SqlConnection =
  | { readonly dialect: 'postgres'; readonly client: PostgresPool }
  | { readonly dialect: 'mysql'; readonly client: MysqlPool }
  | { readonly dialect: 'sqlite'; readonly client: SqliteDatabase };

export interface SqlResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** The number of changed rows. */
  readonly changed: number;
}

export type RunSql = (sql: string, values: (string | number)[]) => Promise<SqlResult>;

type Rows = SqlResult['rows'];

const METHODS: Readonly<
  Record<SqlDialectName, { readonly method: string; readonly what: string }>
> = {
  postgres: { method: 'query', what: 'a Pool of pg (npm i pg)' },
  mysql: { method: 'execute', what: 'a pool of mysql2/promise (npm i mysql2)' },
  sqlite: {
    method: 'prepare',
    what: 'a Database of better-sqlite3 (npm i better-sqlite3), or a DatabaseSync of node:sqlite',
  },
};

/** Throws if the client does not fit the dialect. */
export function runnerOf(connection: SqlConnection): RunSql {
  const { method, what } = METHODS[connection.dialect];
  const client = connection.client as unknown as Readonly<Record<string, unknown>>;
  // A pool of mysql2 without /promise only has callbacks. It can be recognised by its method
  // `promise`.
  const isWithCallbacks = connection.dialect === 'mysql' && typeof client['promise'] === 'function';
  if (typeof client[method] !== 'function' || isWithCallbacks)
    throw new TypeError(
      `sqlIdempotencyStore({ dialect: '${connection.dialect}', client }) takes ${what}.`,
    );
  switch (connection.dialect) {
    case 'postgres':
      return (sql, values) => runOnPostgres(connection.client, sql, values);
    case 'mysql':
      return (sql, values) => runOnMysql(connection.client, sql, values);
    case 'sqlite':
      return runnerOnSqlite(connection.client);
  }
}

async function runOnPostgres(
  client: PostgresPool,
  sql: string,
  values: (string | number)[],
): Promise<SqlResult> {
  const { rows, rowCount } = await client.query(sql, values);
  return { rows: rows as Rows, changed: rowCount ?? 0 };
}

/**
 * Lets the server prepare the statement. If the client inserted the values itself, the result would
 * depend on the server's sql_mode.
 */
async function runOnMysql(
  client: MysqlPool,
  sql: string,
  values: (string | number)[],
): Promise<SqlResult> {
  const [result] = await client.execute(sql, values);
  if (Array.isArray(result)) return { rows: result as Rows, changed: 0 };
  return { rows: [], changed: (result as { readonly affectedRows: number }).affectedRows };
}

function runnerOnSqlite(client: SqliteDatabase): RunSql {
  const prepared = new Map<string, ReturnType<SqliteDatabase['prepare']>>();
  return async (sql, values) => {
    const statement = prepared.get(sql) ?? client.prepare(sql);
    prepared.set(sql, statement);
    if (sql.startsWith('SELECT')) return { rows: statement.all(...values) as Rows, changed: 0 };
    return { rows: [], changed: Number(statement.run(...values).changes) };
  };
}
