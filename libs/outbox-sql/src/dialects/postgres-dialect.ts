import type { RowColumn, SqlDialect } from './sql-dialect.js';
import { valuesOfRows } from './row-parameters.js';

const CASTS: Readonly<Record<RowColumn['type'], string>> = {
  text: 'text',
  integer: 'bigint',
  time: 'timestamptz',
  bytes: 'bytea',
  json: 'text',
};

export const postgresDialect: SqlDialect = {
  name: 'postgres',
  now: 'statement_timestamp()',
  time: (parameter) => `CAST(${parameter} AS timestamptz)`,
  timeValue: (ms) => new Date(ms).toISOString(),
  after: (parameter) =>
    `(statement_timestamp() + CAST(${parameter} AS double precision) * interval '1 millisecond')`,
  milliseconds: (expression) =>
    `CAST(floor(extract(epoch FROM ${expression}) * 1000) AS double precision)`,
  jsonText: (column) => `CAST(${column} AS text)`,
  payloadBytes: (payload) =>
    payload === 'json' ? 'octet_length(CAST(payload AS text))' : 'octet_length(payload)',
  rows: (columns, count) =>
    `(VALUES ${valuesOfRows(columns, count, ({ name, type }, row) => `CAST(:${name}${row} AS ${CASTS[type]})`)}) AS rows (${columns.map(({ name }) => name).join(', ')})`,
  // NEW and RETRY are the even numbers. The planner cannot use the index of the status for this
  // condition, which it would prefer whenever its statistics are old.
  pending: '(status % 2) = 0',
  finished: '(status % 2) = 1',
  finishedAt: 'COALESCE(done_at, created_at)',
  among: (column, values) => ({
    sql: `${column} = ANY (CAST(:among AS text[]))`,
    parameters: { among: arrayOf(values) },
  }),
};

const arrayOf = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
