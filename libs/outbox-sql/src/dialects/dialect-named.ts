import type { SqlDialectName } from '../connections/sql-session.js';
import { mysqlDialect } from './mysql-dialect.js';
import { postgresDialect } from './postgres-dialect.js';
import type { SqlDialect } from './sql-dialect.js';
import { sqliteDialect } from './sqlite-dialect.js';

const DIALECTS: Readonly<Record<SqlDialectName, SqlDialect>> = {
  postgres: postgresDialect,
  mysql: mysqlDialect,
  sqlite: sqliteDialect,
};

export const sqlDialectOf = (name: SqlDialectName): SqlDialect => DIALECTS[name];
