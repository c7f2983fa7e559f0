import type { SqlConnection } from '@nest-event-bus/outbox';
import type { SqlRow } from '../connections/sql-session.js';
import { sqliteDialect } from '../dialects/sqlite-dialect.js';
import { AbstractSqlOutboxStore, type SqlOutboxStoreOptions } from './abstract-sql-outbox-store.js';
import type { HeldChange } from './completion.js';
import type { InsertRows } from './insert-statement.js';
import type { SqlParameters } from './sql-template.js';

/**
 * The store for SQLite. SQLite has one writer at a time, so a statement is its own lock: claims
 * need no SKIP LOCKED, and the order of insertion is the order of the commits.
 */
export class SqliteOutboxStore extends AbstractSqlOutboxStore {
  readonly name = 'SqliteOutboxStore';

  constructor(options: SqlOutboxStoreOptions = {}) {
    super(sqliteDialect, options);
  }

  protected async insertRows(
    connection: SqlConnection,
    { rows, parameters }: InsertRows,
  ): Promise<void> {
    const { into, select } = this.insert.target('payload', 'headers');
    await this.sql.update(
      connection,
      `INSERT INTO ${this.table} (${into}, sequence_no) SELECT ${select}, (SELECT COALESCE(MAX(sequence_no), 0) FROM ${this.table}) + insert_no + 1 FROM ${rows} ORDER BY insert_no`,
      parameters,
    );
  }

  protected claimRows(connection: SqlConnection, claim: SqlParameters): Promise<readonly SqlRow[]> {
    return this.sql.updateReturning(
      connection,
      `UPDATE ${this.table} SET locked_by = :ownerId, locked_at = :now WHERE event_id IN (SELECT event_id FROM ${this.table} WHERE ${this.claimable} ORDER BY created_at, event_id LIMIT :limit) RETURNING ${this.columns}`,
      claim,
    );
  }

  protected async leaseRows(
    connection: SqlConnection,
    order: 'key' | 'none',
    request: SqlParameters,
  ): Promise<number> {
    const held = `WITH held AS MATERIALIZED (${this.leases.heldKeys({ suspects: true })}) `;
    const isNext = `AND (key_hash IS NULL OR NOT EXISTS (SELECT 1 FROM held WHERE held.key_hash = due.key_hash AND held.first_no <= due.sequence_no))`;
    const rows = await this.sql.updateReturning(
      connection,
      `${order === 'key' ? held : ''}UPDATE ${this.table} SET ${this.leases.assignments('', false)} WHERE event_id IN (SELECT event_id FROM ${this.table} AS due WHERE ${this.leases.plain} ${order === 'key' ? isNext : ''} ORDER BY sequence_no LIMIT :limit) RETURNING event_id`,
      request,
    );
    return rows.length;
  }

  protected async changeHeld(
    connection: SqlConnection,
    { token, eventIds, assignments, parameters }: HeldChange,
  ): Promise<readonly string[]> {
    const among = this.dialect.among('event_id', eventIds);
    const rows = await this.sql.updateReturning(
      connection,
      `UPDATE ${this.table} SET ${assignments} WHERE ${among.sql} AND locked_by = :token AND ${this.dialect.pending} RETURNING event_id`,
      { ...parameters, ...among.parameters, token },
    );
    return rows.map((row) => String(row['event_id']));
  }
}
