import type { SqlConnection } from '@nest-event-bus/outbox';
import type { SqlRow } from '../connections/sql-session.js';
import { mysqlDialect } from '../dialects/mysql-dialect.js';
import { OutboxSchemaVersionError } from '../errors/store-errors.js';
import { SCHEMA_VERSION } from '../errors/translate-error.js';
import { KEY_BUCKETS, lockTableOf } from '../schema/key-locks.js';
import { AbstractSqlOutboxStore, type SqlOutboxStoreOptions } from './abstract-sql-outbox-store.js';
import type { HeldChange } from './completion.js';
import type { InsertRows } from './insert-statement.js';
import { hash48 } from './order-key-hash.js';
import type { SqlParameters } from './sql-template.js';

/**
 * The store for MySQL 8 and MariaDB 10.6 or newer. MySQL has no RETURNING, so claims are read back
 * by what they wrote.
 */
export class MySqlOutboxStore extends AbstractSqlOutboxStore {
  readonly name = 'MySqlOutboxStore';
  #claims = 0;

  constructor(options: SqlOutboxStoreOptions = {}) {
    super(mysqlDialect, options);
  }

  /** Locks one row per key in the statement of the insert. These rows exist since the migration. */
  protected async insertRows(
    connection: SqlConnection,
    { rows, count, parameters }: InsertRows,
    keysToLock: readonly string[],
  ): Promise<void> {
    const { into, select } = this.insert.target('payload', 'headers');
    const buckets = [...new Set(keysToLock.map((key) => hash48(key) % KEY_BUCKETS))];
    buckets.sort((a, b) => a - b);
    // Compared with a text, the column would lose its index, and every row would be locked.
    const wanted = buckets.map((_, index) => `CAST(:bucket${index} AS SIGNED)`).join(', ');
    const locks = `SELECT COUNT(*) AS locked FROM (SELECT bucket FROM ${lockTableOf(this.table)} WHERE bucket IN (${wanted}) ORDER BY bucket FOR UPDATE) AS locks`;
    const inserted = await this.sql.update(
      connection,
      buckets.length === 0
        ? `INSERT INTO ${this.table} (${into}) SELECT ${select} FROM ${rows} ORDER BY insert_no`
        : `INSERT INTO ${this.table} (${into}) SELECT ${select} FROM (${locks}) AS held JOIN ${rows} WHERE held.locked = :buckets ORDER BY insert_no`,
      {
        ...parameters,
        ...Object.fromEntries(buckets.map((bucket, index) => [`bucket${index}`, bucket])),
        buckets: buckets.length,
      },
    );
    if (inserted < count)
      throw new OutboxSchemaVersionError(lockTableOf(this.table), 'older', SCHEMA_VERSION);
  }

  protected async claimRows(
    connection: SqlConnection,
    claim: SqlParameters,
  ): Promise<readonly SqlRow[]> {
    const stamp = this.#stampOf(String(claim['now']));
    const parameters = { ...claim, stamp };
    const due = `SELECT event_id FROM ${this.table} WHERE ${this.claimable} ORDER BY created_at, event_id LIMIT :limit FOR UPDATE SKIP LOCKED`;
    await this.#updateDue(
      connection,
      due,
      `t.locked_by = :ownerId, t.locked_at = ${this.dialect.time(':stamp')}`,
      parameters,
    );
    return this.sql.query(
      connection,
      `SELECT ${this.columns} FROM ${this.table} WHERE locked_by = :ownerId AND locked_at = ${this.dialect.time(':stamp')}`,
      parameters,
    );
  }

  /**
   * Reads the held keys with a statement of its own. Inside the UPDATE the server would lock the
   * rows that it reads there: a claim would wait for every open transaction of the application, and
   * claims would stop each other in deadlocks. What happens between the two statements is seen when
   * the lease is read.
   */
  protected async leaseRows(
    connection: SqlConnection,
    order: 'key' | 'none',
    request: SqlParameters,
  ): Promise<number> {
    const held = order === 'key' ? await this.#heldKeys(connection) : [];
    const listed = `JSON_TABLE(CAST(:held AS CHAR), '$[*]' COLUMNS (key_hash BIGINT PATH '$[0]', first_no BIGINT PATH '$[1]')) AS listed`;
    const join = `LEFT JOIN (SELECT key_hash, MIN(first_no) AS first_no FROM ${listed} GROUP BY key_hash) AS held ON held.key_hash = o.key_hash`;
    const isNext = 'AND (held.first_no IS NULL OR o.sequence_no < held.first_no)';
    const due = `SELECT o.event_id FROM ${this.table} AS o FORCE INDEX (pending) ${held.length > 0 ? join : ''} WHERE ${this.leases.plain} ${held.length > 0 ? isNext : ''} ORDER BY o.sequence_no LIMIT :limit FOR UPDATE SKIP LOCKED`;
    return this.#updateDue(connection, due, this.leases.assignments('t.', false), {
      ...request,
      held: JSON.stringify(held),
    });
  }

  /**
   * Reads the ids first, because an UPDATE does not tell which rows it has changed. The index is
   * forced: a scan of a small table would wait for rows that a transaction has just inserted.
   */
  protected async changeHeld(
    connection: SqlConnection,
    { token, eventIds, assignments, parameters }: HeldChange,
  ): Promise<readonly string[]> {
    const held = await this.#heldAmong(connection, token, eventIds);
    if (held.length === 0) return [];
    const among = this.dialect.among('event_id', held);
    const changed = await this.sql.update(
      connection,
      `UPDATE ${this.table} FORCE INDEX (PRIMARY) SET ${assignments} WHERE ${among.sql} AND locked_by = :token AND ${this.dialect.pending}`,
      { ...parameters, ...among.parameters, token },
    );
    return changed === held.length ? held : this.#notTaken(connection, held, token);
  }

  /**
   * Updates the rows that `due` selects, in one statement, so that a process that stops in between
   * holds no lock. READ COMMITTED takes no gap locks, which would stop the inserts of transactions
   * of the application.
   */
  async #updateDue(
    connection: SqlConnection,
    due: string,
    assignments: string,
    parameters: SqlParameters,
  ): Promise<number> {
    await this.sql.update(connection, 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
    return this.sql.update(
      connection,
      `UPDATE (${due}) AS due STRAIGHT_JOIN ${this.table} AS t FORCE INDEX (PRIMARY) ON t.event_id = due.event_id SET ${assignments}`,
      parameters,
    );
  }

  /** The keys that keep later events back, each with the number of its first event. */
  async #heldKeys(connection: SqlConnection): Promise<readonly (readonly [number, number])[]> {
    const rows = await this.sql.query(connection, this.leases.heldKeys({ suspects: true }));
    return rows.map((row) => [Number(row['key_hash']), Number(row['first_no'])] as const);
  }

  async #heldAmong(
    connection: SqlConnection,
    token: string,
    eventIds: readonly string[],
  ): Promise<readonly string[]> {
    const among = this.dialect.among('event_id', eventIds);
    const rows = await this.sql.query(
      connection,
      `SELECT event_id FROM ${this.table} WHERE ${among.sql} AND locked_by = :token AND ${this.dialect.pending}`,
      { ...among.parameters, token },
    );
    return rows.map((row) => String(row['event_id']));
  }

  /** Another claim took some of the events between the two statements. Returns the others. */
  async #notTaken(
    connection: SqlConnection,
    eventIds: readonly string[],
    token: string,
  ): Promise<readonly string[]> {
    const among = this.dialect.among('event_id', eventIds);
    const rows = await this.sql.query(
      connection,
      `SELECT event_id FROM ${this.table} WHERE ${among.sql} AND locked_by IS NOT NULL AND locked_by <> '' AND locked_by <> :token`,
      { ...among.parameters, token },
    );
    const taken = new Set(rows.map((row) => String(row['event_id'])));
    return eventIds.filter((id) => !taken.has(id));
  }

  /**
   * The time of a claim with microseconds that count the claims, so that two claims of one owner in
   * the same millisecond do not read the rows of each other.
   */
  #stampOf(time: string): string {
    this.#claims = (this.#claims + 1) % 1_000;
    return `${time}${String(this.#claims).padStart(3, '0')}`;
  }
}
