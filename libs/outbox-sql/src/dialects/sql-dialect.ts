import type { SqlDialectName, SqlValue } from '../connections/sql-session.js';

/** How the payload is stored: any bytes as they are, or JSON that the database can query. */
export type PayloadColumn = 'binary' | 'json';

/** What differs between databases within statements that are otherwise the same. */
export interface SqlDialect {
  readonly name: SqlDialectName;
  /** The time of the database, the same within one statement. */
  readonly now: string;
  /** The time that a parameter has. Its value comes from `timeValue`. */
  time(parameter: string): string;
  timeValue(ms: number): SqlValue;
  /** The time of the database plus the milliseconds of a parameter. */
  after(parameter: string): string;
  /** A time as milliseconds since 1970. */
  milliseconds(expression: string): string;
  /** A JSON column as text. */
  jsonText(column: string): string;
  /** The number of bytes of a payload. */
  payloadBytes(payload: PayloadColumn): string;
  /** Rows of parameters as a table with these columns. Their names end with the number of the row. */
  rows(columns: readonly RowColumn[], count: number): string;
  /** True for rows that are NEW or RETRY. An index contains only them. */
  readonly pending: string;
  /** True for rows that are DONE or DEAD. An index contains only them. */
  readonly finished: string;
  /** The time at which a finished row was finished. */
  readonly finishedAt: string;
  /** True if the column has one of the values. */
  among(column: string, values: readonly string[]): Condition;
}

export interface Condition {
  readonly sql: string;
  readonly parameters: Readonly<Record<string, SqlValue>>;
}

export interface RowColumn {
  readonly name: string;
  readonly type: 'text' | 'integer' | 'time' | 'bytes' | 'json';
}
