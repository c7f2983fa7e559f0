export type SqlDialectName = 'postgres' | 'mysql' | 'sqlite';

export type SqlValue = 'key' | 'owner' | 'milliseconds';

export interface SqlStatement {
  readonly sql: string;
  /** The values of the placeholders, in order. */
  readonly values: readonly SqlValue[];
}

/**
 * The statements of one dialect. The table has one row per key. A row without an owner is done. All
 * times are taken from the database, because the clocks of processes differ.
 */
export interface SqlDialect {
  readonly createTable: readonly string[];
  /** Claims the key if it has no row, or if its row has expired. */
  readonly claim: SqlStatement;
  /** True if the number of rows that `claim` changed tells whether it took the key. */
  readonly countsClaims: boolean;
  /** Reads the owner of the key. The claim has found that the row is not expired. */
  readonly read: SqlStatement;
  readonly complete: SqlStatement;
  readonly release: SqlStatement;
  /** Deletes some of the expired rows. */
  readonly purge: SqlStatement;
  /** Lists the keys that are done, after `key`. */
  readonly listDone: SqlStatement;
}

/** The maximum number of rows of one statement. */
export const MAX_ROWS_PER_STATEMENT = 1_000;

export const SQL_DIALECTS: Readonly<Record<SqlDialectName, (table: string) => SqlDialect>> =
  Object.freeze({ postgres, mysql, sqlite });

function postgres(table: string): SqlDialect {
  const now = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
  return {
    createTable: [
      `CREATE TABLE IF NOT EXISTS ${table} (record_key varchar(512) COLLATE "C" PRIMARY KEY, owner varchar(64), expires_at bigint NOT NULL)`,
      `CREATE INDEX IF NOT EXISTS ${withoutSchema(table)}_expires_at ON ${table} (expires_at)`,
    ],
    claim: {
      sql: `INSERT INTO ${table} AS held (record_key, owner, expires_at) VALUES ($1, $2, ${now} + $3::bigint) ON CONFLICT (record_key) DO UPDATE SET owner = EXCLUDED.owner, expires_at = EXCLUDED.expires_at WHERE held.expires_at <= ${now}`,
      values: ['key', 'owner', 'milliseconds'],
    },
    countsClaims: true,
    read: {
      sql: `SELECT owner FROM ${table} WHERE record_key = $1`,
      values: ['key'],
    },
    complete: {
      sql: `INSERT INTO ${table} (record_key, owner, expires_at) VALUES ($1, NULL, ${now} + $2::bigint) ON CONFLICT (record_key) DO UPDATE SET owner = NULL, expires_at = EXCLUDED.expires_at`,
      values: ['key', 'milliseconds'],
    },
    release: {
      sql: `DELETE FROM ${table} WHERE record_key = $1 AND owner = $2`,
      values: ['key', 'owner'],
    },
    purge: {
      sql: `DELETE FROM ${table} WHERE record_key IN (SELECT record_key FROM ${table} WHERE expires_at <= ${now} LIMIT ${MAX_ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED)`,
      values: [],
    },
    listDone: {
      sql: `SELECT record_key FROM ${table} WHERE owner IS NULL AND record_key > $1 AND expires_at > ${now} ORDER BY record_key LIMIT ${MAX_ROWS_PER_STATEMENT}`,
      values: ['key'],
    },
  };
}

/**
 * Also used for MariaDB. Keys are bytes, because its collations ignore case, accents or trailing
 * blanks.
 */
function mysql(table: string): SqlDialect {
  // UTC, because the local time repeats an hour once a year.
  const now = `(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)`;
  return {
    createTable: [
      `CREATE TABLE IF NOT EXISTS ${table} (record_key VARBINARY(512) NOT NULL PRIMARY KEY, owner VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL, expires_at BIGINT NOT NULL, INDEX ${withoutSchema(table)}_expires_at (expires_at)) ENGINE = InnoDB`,
    ],
    claim: {
      sql: `INSERT INTO ${table} (record_key, owner, expires_at) VALUES (?, ?, ${now} + ?) ON DUPLICATE KEY UPDATE owner = IF(expires_at <= ${now}, ?, owner), expires_at = IF(expires_at <= ${now}, ${now} + ?, expires_at)`,
      values: ['key', 'owner', 'milliseconds', 'owner', 'milliseconds'],
    },
    // mysql2 counts the rows that were found, whether they changed or not.
    countsClaims: false,
    read: {
      sql: `SELECT owner FROM ${table} WHERE record_key = ?`,
      values: ['key'],
    },
    complete: {
      sql: `INSERT INTO ${table} (record_key, owner, expires_at) VALUES (?, NULL, ${now} + ?) ON DUPLICATE KEY UPDATE owner = NULL, expires_at = ${now} + ?`,
      values: ['key', 'milliseconds', 'milliseconds'],
    },
    release: {
      sql: `DELETE FROM ${table} WHERE record_key = ? AND owner = ?`,
      values: ['key', 'owner'],
    },
    purge: {
      sql: `DELETE FROM ${table} WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${MAX_ROWS_PER_STATEMENT}`,
      values: [],
    },
    listDone: {
      sql: `SELECT CAST(record_key AS CHAR) AS record_key FROM ${table} WHERE owner IS NULL AND record_key > ? AND expires_at > ${now} ORDER BY record_key LIMIT ${MAX_ROWS_PER_STATEMENT}`,
      values: ['key'],
    },
  };
}

function sqlite(table: string): SqlDialect {
  const now = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`;
  return {
    createTable: [
      `CREATE TABLE IF NOT EXISTS ${table} (record_key TEXT NOT NULL PRIMARY KEY, owner TEXT, expires_at INTEGER NOT NULL) WITHOUT ROWID`,
      `CREATE INDEX IF NOT EXISTS ${table}_expires_at ON ${table} (expires_at)`,
    ],
    claim: {
      sql: `INSERT INTO ${table} (record_key, owner, expires_at) VALUES (?, ?, ${now} + ?) ON CONFLICT (record_key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at WHERE expires_at <= ${now}`,
      values: ['key', 'owner', 'milliseconds'],
    },
    countsClaims: true,
    read: {
      sql: `SELECT owner FROM ${table} WHERE record_key = ?`,
      values: ['key'],
    },
    complete: {
      sql: `INSERT INTO ${table} (record_key, owner, expires_at) VALUES (?, NULL, ${now} + ?) ON CONFLICT (record_key) DO UPDATE SET owner = NULL, expires_at = excluded.expires_at`,
      values: ['key', 'milliseconds'],
    },
    release: {
      sql: `DELETE FROM ${table} WHERE record_key = ? AND owner = ?`,
      values: ['key', 'owner'],
    },
    purge: {
      sql: `DELETE FROM ${table} WHERE record_key IN (SELECT record_key FROM ${table} WHERE expires_at <= ${now} LIMIT ${MAX_ROWS_PER_STATEMENT})`,
      values: [],
    },
    listDone: {
      sql: `SELECT record_key FROM ${table} WHERE owner IS NULL AND record_key > ? AND expires_at > ${now} ORDER BY record_key LIMIT ${MAX_ROWS_PER_STATEMENT}`,
      values: ['key'],
    },
  };
}

function withoutSchema(table: string): string {
  return table.split('.').at(-1) ?? table;
}
