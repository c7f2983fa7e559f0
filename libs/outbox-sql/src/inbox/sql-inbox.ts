import { type EventPurger, IllegalArgumentError, type SqlConnection } from '@nest-event-bus/outbox';
import type { SqlDialectName } from '../connections/sql-session.js';
import { sqlDialectOf } from '../dialects/dialect-named.js';
import type { SqlDialect } from '../dialects/sql-dialect.js';
import { SqlTemplate } from '../stores/sql-template.js';
import { checkedTableName } from '../stores/table-name.js';

/** A message that a consumer handles once. */
export interface InboxMessage {
  /** Who handles it, at most 255 characters. Each consumer handles a message for itself. */
  readonly consumer: string;
  /** At most 255 characters. */
  readonly messageId: string;
}

export const DEFAULT_INBOX_TABLE = 'outbox_inbox';
const MAX_LENGTH = 255;

/**
 * Remembers which messages were handled. A claim is part of the caller's transaction, so it is
 * committed together with what the handler writes, or not at all.
 */
export class SqlInbox implements EventPurger {
  readonly kind = 'age';
  readonly table: string;
  readonly #dialect: SqlDialect;
  readonly #sql: SqlTemplate;

  constructor(dialect: SqlDialectName, tableName = DEFAULT_INBOX_TABLE) {
    this.table = checkedTableName(tableName);
    this.#dialect = sqlDialectOf(dialect);
    this.#sql = new SqlTemplate(dialect, this.table);
  }

  /**
   * Returns whether the message is new. Waits while another transaction has claimed it: after its
   * commit the answer is false, and after its rollback it is true.
   */
  async claim(connection: SqlConnection, { consumer, messageId }: InboxMessage): Promise<boolean> {
    checkText('consumer', consumer);
    checkText('messageId', messageId);
    const row = `${this.table} (consumer, message_id, handled_at) VALUES (:consumer, :messageId, ${this.#dialect.now})`;
    const parameters = { consumer, messageId };
    // MySQL has no RETURNING, and ORMs report the number of changed rows in different ways.
    if (this.#dialect.name === 'mysql')
      return (await this.#sql.update(connection, `INSERT IGNORE INTO ${row}`, parameters)) > 0;
    const rows = await this.#sql.updateReturning(
      connection,
      `INSERT INTO ${row} ON CONFLICT DO NOTHING RETURNING message_id`,
      parameters,
    );
    return rows.length > 0;
  }

  /** Forgets messages that were handled before the time. Returns their number. */
  purge(connection: SqlConnection, before: number, limit: number): Promise<number> {
    const old = `handled_at < ${this.#dialect.time(':before')} ORDER BY handled_at LIMIT :limit`;
    return this.#sql.update(
      connection,
      this.#dialect.name === 'mysql'
        ? `DELETE FROM ${this.table} WHERE ${old}`
        : `DELETE FROM ${this.table} WHERE (consumer, message_id) IN (SELECT consumer, message_id FROM ${this.table} WHERE ${old})`,
      { before: this.#dialect.timeValue(before), limit },
    );
  }
}

function checkText(name: string, text: string): void {
  if (typeof text === 'string' && text.length > 0 && text.length <= MAX_LENGTH) return;
  throw new IllegalArgumentError(
    `${name} of a message must be text of 1 to ${MAX_LENGTH} characters. Use an id that the producer gives, or a digest of it.`,
  );
}
