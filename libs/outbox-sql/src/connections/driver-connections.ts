/** The part of a `Client` or `PoolClient` of pg that is used. PGlite has it too. */
export interface PostgresConnection {
  query(sql: string, values?: unknown[]): Promise<PostgresResult>;
}

export interface PostgresResult {
  readonly rows: readonly unknown[];
  readonly rowCount?: number | null;
  readonly command?: string;
  /** The count of PGlite. */
  readonly affectedRows?: number;
}

/** The part of a connection of mysql2/promise that is used. */
export interface MysqlConnection {
  execute(sql: string, values?: unknown[]): Promise<readonly [unknown, ...unknown[]]>;
  query(sql: string, values?: unknown[]): Promise<readonly [unknown, ...unknown[]]>;
}

/** The part of a `Database` of better-sqlite3, or of a `DatabaseSync` of node:sqlite, that is used. */
export interface SqliteConnection {
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
}

export interface SqliteStatement {
  run(...values: unknown[]): { readonly changes: number | bigint };
  all(...values: unknown[]): readonly unknown[];
}

const isFunction = (object: object, name: string): boolean =>
  typeof (object as Readonly<Record<string, unknown>>)[name] === 'function';

export const isSqliteConnection = (handle: object): handle is SqliteConnection =>
  isFunction(handle, 'prepare') && isFunction(handle, 'exec') && !isFunction(handle, 'query');

/** True for connections of mysql2/promise, and for those with callbacks. */
export const isMysqlHandle = (handle: object): boolean =>
  isFunction(handle, 'execute') && isFunction(handle, 'query');

/** Connections of mysql2 with callbacks have a method that returns the one with promises. */
export function mysqlConnectionOf(handle: object): MysqlConnection {
  const { promise } = handle as { readonly promise?: () => MysqlConnection };
  return typeof promise === 'function' ? promise.call(handle) : (handle as MysqlConnection);
}

export const isPostgresHandle = (handle: object): handle is PostgresConnection =>
  isFunction(handle, 'query') && !isFunction(handle, 'execute');

/**
 * True for a pool of pg or mysql2. Each statement of a pool may run on another connection, so a
 * pool is never in a transaction.
 */
export const isPool = (handle: object): boolean =>
  isFunction(handle, 'getConnection') ||
  (isFunction(handle, 'connect') && 'totalCount' in handle && 'idleCount' in handle);
