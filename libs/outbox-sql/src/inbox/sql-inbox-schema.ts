import type { SqlConnection } from '@nest-event-bus/outbox';
import { sessionOf } from '../connections/session-of.js';
import type { SqlDialectName } from '../connections/sql-session.js';
import { translateError } from '../errors/translate-error.js';
import { checkedTableName, withoutSchema } from '../stores/table-name.js';
import { DEFAULT_INBOX_TABLE } from './sql-inbox.js';

/** The table of the inbox in one dialect. */
export class SqlInboxSchema {
  readonly table: string;

  constructor(
    readonly dialect: SqlDialectName,
    tableName = DEFAULT_INBOX_TABLE,
  ) {
    this.table = checkedTableName(tableName);
  }

  /** The statements that create the table. They change nothing if it exists. */
  sql(): readonly string[] {
    const { dialect, table } = this;
    const index = `${withoutSchema(table)}_handled`;
    switch (dialect) {
      case 'postgres':
        return [
          `CREATE TABLE IF NOT EXISTS ${table} (
  consumer varchar(255) COLLATE "C" NOT NULL,
  message_id varchar(255) COLLATE "C" NOT NULL,
  handled_at timestamptz(6) NOT NULL,
  PRIMARY KEY (consumer, message_id)
)`,
          `CREATE INDEX IF NOT EXISTS ${index} ON ${table} (handled_at)`,
        ];
      case 'mysql':
        // Every collation of MySQL's text ignores spaces at the end, or the case.
        return [
          `CREATE TABLE IF NOT EXISTS ${table} (
  consumer VARBINARY(1020) NOT NULL,
  message_id VARBINARY(1020) NOT NULL,
  handled_at DATETIME(6) NOT NULL,
  PRIMARY KEY (consumer, message_id),
  INDEX ${index} (handled_at)
) ENGINE = InnoDB`,
        ];
      case 'sqlite':
        return [
          `CREATE TABLE IF NOT EXISTS ${table} (
  consumer TEXT NOT NULL,
  message_id TEXT NOT NULL,
  handled_at INTEGER NOT NULL,
  PRIMARY KEY (consumer, message_id)
)`,
          `CREATE INDEX IF NOT EXISTS ${index} ON ${table} (handled_at)`,
        ];
    }
  }

  /** Creates the table if it does not exist. */
  async migrate(connection: SqlConnection): Promise<void> {
    const session = sessionOf(connection);
    try {
      for (const statement of this.sql())
        // If two processes create the table at the same time, PostgreSQL refuses one of them.
        await session.run(statement, []).catch(() => session.run(statement, []));
    } catch (error) {
      throw translateError(error, `The schema of ${this.table}`, this.table);
    }
  }
}
