import type { EventPurger, SqlConnection } from '@nest-event-bus/outbox';
import { mysqlDialect } from '../dialects/mysql-dialect.js';
import { postgresDialect } from '../dialects/postgres-dialect.js';
import type { SqlDialect } from '../dialects/sql-dialect.js';
import { sqliteDialect } from '../dialects/sqlite-dialect.js';
import { SqlTemplate } from '../stores/sql-template.js';
import { checkedTableName, DEFAULT_TABLE } from '../stores/table-name.js';

/** Deletes old events in one statement. The subclasses say which rows and in which dialect. */
export abstract class AbstractSqlEventPurger implements EventPurger {
  abstract readonly kind: EventPurger['kind'];
  readonly table: string;
  protected readonly sql: SqlTemplate;

  constructor(
    protected readonly dialect: SqlDialect,
    tableName = DEFAULT_TABLE,
  ) {
    this.table = checkedTableName(tableName);
    this.sql = new SqlTemplate(dialect.name, this.table);
  }

  purge(connection: SqlConnection, before: number, limit: number): Promise<number> {
    return this.sql.update(connection, this.deletion(this.oldRows), {
      before: this.dialect.timeValue(before),
      limit,
    });
  }

  /** The condition and the order of the rows to delete. */
  protected get oldRows(): OldRows {
    const before = this.dialect.time(':before');
    return this.kind === 'age'
      ? { where: `created_at < ${before}`, order: 'created_at' }
      : {
          where: `${this.dialect.finished} AND blocks_key = 0 AND ${this.dialect.finishedAt} < ${before}`,
          order: this.dialect.finishedAt,
        };
  }

  /** The statement. Rows that another purge deletes are skipped where the database can. */
  protected deletion({ where, order }: OldRows): string {
    const old = `SELECT event_id FROM ${this.table} WHERE ${where} ORDER BY ${order} LIMIT :limit`;
    return this.dialect.name === 'postgres'
      ? `DELETE FROM ${this.table} WHERE event_id = ANY (ARRAY (${old} FOR UPDATE SKIP LOCKED))`
      : `DELETE FROM ${this.table} WHERE event_id IN (${old})`;
  }
}

export interface OldRows {
  readonly where: string;
  readonly order: string;
}

/** Deletes DONE and DEAD events. */
export class PostgresEventPurger extends AbstractSqlEventPurger {
  readonly kind: EventPurger['kind'] = 'status';

  constructor(tableName?: string) {
    super(postgresDialect, tableName);
  }
}

/** Deletes DONE and DEAD events. */
export class SqliteEventPurger extends AbstractSqlEventPurger {
  readonly kind: EventPurger['kind'] = 'status';

  constructor(tableName?: string) {
    super(sqliteDialect, tableName);
  }
}

/** Deletes DONE and DEAD events, with the LIMIT that a DELETE of MySQL has. */
export class MySqlEventPurger extends AbstractSqlEventPurger {
  readonly kind: EventPurger['kind'] = 'status';

  constructor(tableName?: string) {
    super(mysqlDialect, tableName);
  }

  protected override deletion({ where, order }: OldRows): string {
    return `DELETE FROM ${this.table} WHERE ${where} ORDER BY ${order} LIMIT :limit`;
  }
}

/** Deletes events of any status by their age, for tables that no dispatcher reads. */
export class PostgresAgeBasedPurger extends PostgresEventPurger {
  override readonly kind = 'age';
}

/** Deletes events of any status by their age, for tables that no dispatcher reads. */
export class SqliteAgeBasedPurger extends SqliteEventPurger {
  override readonly kind = 'age';
}

/** Deletes events of any status by their age, for tables that no dispatcher reads. */
export class MySqlAgeBasedPurger extends MySqlEventPurger {
  override readonly kind = 'age';
}
