export type SqlDialectName = 'postgres' | 'mysql' | 'sqlite';

export type SqlValue = string | number | Uint8Array | null;

export type SqlRow = Readonly<Record<string, unknown>>;

export interface SqlResult {
  readonly rows: readonly SqlRow[];
  /** The number of changed rows. */
  readonly changed: number;
  /** The command that PostgreSQL has executed, if the driver tells it. */
  readonly command?: string;
}

/**
 * Runs statements on one connection. The stores accept it in place of a connection of a driver, so
 * that the transaction object of any ORM can be used. PostgreSQL's placeholders are `$1`, those of
 * the others `?`.
 */
export interface SqlSession {
  readonly dialect: SqlDialectName;
  run(sql: string, values: readonly SqlValue[]): Promise<SqlResult>;
}
