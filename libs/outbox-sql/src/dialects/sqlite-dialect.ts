import type { SqlDialect } from './sql-dialect.js';
import { selectsOfRows } from './row-parameters.js';

const now = `CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`;

/** Times are whole milliseconds since 1970. */
export const sqliteDialect: SqlDialect = {
  name: 'sqlite',
  now,
  time: (parameter) => parameter,
  timeValue: (ms) => ms,
  after: (parameter) => `(${now} + ${parameter})`,
  milliseconds: (expression) => expression,
  jsonText: (column) => column,
  payloadBytes: () => 'length(CAST(payload AS BLOB))',
  rows: (columns, count) => `(${selectsOfRows(columns, count)}) AS input`,
  pending: 'status % 2 = 0',
  finished: 'status % 2 = 1',
  finishedAt: 'COALESCE(done_at, created_at)',
  among: (column, values) => ({
    sql: `${column} IN (SELECT value FROM json_each(:among))`,
    parameters: { among: JSON.stringify(values) },
  }),
};
