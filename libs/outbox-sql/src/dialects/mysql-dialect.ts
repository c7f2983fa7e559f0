import type { RowColumn, SqlDialect } from './sql-dialect.js';
import { selectsOfRows } from './row-parameters.js';

/** Also used for MariaDB and TiDB. All times are UTC, because local times repeat once a year. */
export const mysqlDialect: SqlDialect = {
  name: 'mysql',
  now: 'UTC_TIMESTAMP(6)',
  time: (parameter) => `CAST(${parameter} AS DATETIME(6))`,
  timeValue: (ms) => new Date(ms).toISOString().slice(0, -1).replace('T', ' '),
  after: (parameter) => `DATE_ADD(UTC_TIMESTAMP(6), INTERVAL ${parameter} * 1000 MICROSECOND)`,
  milliseconds: (expression) =>
    `(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ${expression}) DIV 1000)`,
  jsonText: (column) => `CAST(${column} AS CHAR)`,
  payloadBytes: () => 'LENGTH(payload)',
  rows: (columns, count) => `(${selectsOfRows(columns, count, castOf)}) AS input`,
  pending: 'is_pending = 1',
  finished: 'finished_at IS NOT NULL',
  finishedAt: 'finished_at',
  among: (column, values) => {
    const padded = paddedTo(powerOfTwo(values.length), values);
    return {
      sql: `${column} IN (${padded.map((_, index) => `:among${index}`).join(', ')})`,
      parameters: Object.fromEntries(padded.map((value, index) => [`among${index}`, value])),
    };
  },
};

/** Without the casts, a column of the derived table would have the type of its first row. */
function castOf({ type }: RowColumn, parameter: string): string {
  if (type === 'bytes') return `CAST(${parameter} AS BINARY)`;
  return type === 'integer' ? `CAST(${parameter} AS SIGNED)` : parameter;
}

/**
 * Repeats the last value. The server keeps each prepared statement, so lists have only a few
 * lengths.
 */
const paddedTo = (length: number, values: readonly string[]): readonly string[] =>
  Array.from({ length }, (_, index) => values[Math.min(index, values.length - 1)] ?? '');

const powerOfTwo = (length: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, length)));
