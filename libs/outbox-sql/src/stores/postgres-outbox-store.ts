import type { ClaimedEvent, LeaseRequest, SqlConnection } from '@nest-event-bus/outbox';
import type { SqlRow } from '../connections/sql-session.js';
import { postgresDialect } from '../dialects/postgres-dialect.js';
import { OutboxIsolationError } from '../errors/store-errors.js';
import { AbstractSqlOutboxStore, type SqlOutboxStoreOptions } from './abstract-sql-outbox-store.js';
import type { HeldChange } from './completion.js';
import type { InsertRows } from './insert-statement.js';
import { hash48 } from './order-key-hash.js';
import type { SqlParameters } from './sql-template.js';

const MAX_SEQUENCE = '9223372036854775807';

/** The store for PostgreSQL. Claims skip rows that another claim has locked. */
export class PostgresOutboxStore extends AbstractSqlOutboxStore {
  readonly name = 'PostgresOutboxStore';
  #isolationIsChecked = false;

  constructor(options: SqlOutboxStoreOptions = {}) {
    super(postgresDialect, options);
  }

  /**
   * Takes the locks of the keys in the statement of the insert. The sequence is assigned to rows
   * after the locks are there, because the rows are sorted first.
   */
  protected async insertRows(
    connection: SqlConnection,
    { rows, parameters }: InsertRows,
    keysToLock: readonly string[],
  ): Promise<void> {
    const json = this.payload === 'json' ? 'CAST(payload AS jsonb)' : 'payload';
    const { into, select } = this.insert.target(json, 'CAST(headers AS json)');
    const locks = keysToLock.map((key) => hash48(`${this.table} ${key}`)).sort((a, b) => a - b);
    const locked = locks.map((_, index) => `(CAST(:lock${index} AS bigint))`).join(', ');
    const withLocks = `WITH locks AS MATERIALIZED (SELECT pg_advisory_xact_lock(lock_no) FROM (VALUES ${locked}) AS keys (lock_no)) `;
    await this.sql.update(
      connection,
      `${locks.length > 0 ? withLocks : ''}INSERT INTO ${this.table} (${into}) SELECT ${select} FROM ${rows}${
        locks.length > 0 ? ' CROSS JOIN (SELECT COUNT(*) FROM locks) AS held' : ''
      } ORDER BY insert_no`,
      { ...parameters, ...Object.fromEntries(locks.map((lock, index) => [`lock${index}`, lock])) },
    );
  }

  protected async claimRows(
    connection: SqlConnection,
    claim: SqlParameters,
  ): Promise<readonly SqlRow[]> {
    await this.#checkIsolation(connection);
    return this.sql.updateReturning(
      connection,
      `UPDATE ${this.table} SET locked_by = :ownerId, locked_at = ${this.dialect.time(':now')} WHERE event_id = ANY (ARRAY (SELECT event_id FROM ${this.table} WHERE ${this.claimable} ORDER BY created_at, event_id LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING ${this.columns}`,
      claim,
    );
  }

  override async lease(
    connection: SqlConnection,
    request: LeaseRequest,
  ): Promise<readonly ClaimedEvent[]> {
    await this.#checkIsolation(connection);
    return super.lease(connection, request);
  }

  protected async leaseRows(
    connection: SqlConnection,
    order: 'key' | 'none',
    request: SqlParameters,
  ): Promise<number> {
    const held = `WITH held AS (SELECT jsonb_object_agg(CAST(key_hash AS text), first_no) AS firsts FROM (${this.leases.heldKeys({ suspects: true })}) AS keys) `;
    const first = 'CAST((SELECT firsts FROM held) ->> CAST(key_hash AS text) AS bigint)';
    const isNext = `AND (key_hash IS NULL OR sequence_no < COALESCE(${first}, ${MAX_SEQUENCE}))`;
    return this.sql.update(
      connection,
      `${order === 'key' ? held : ''}UPDATE ${this.table} SET ${this.leases.assignments('', false)} WHERE event_id = ANY (ARRAY (SELECT event_id FROM ${this.table} WHERE ${this.leases.plain} ${order === 'key' ? isNext : ''} ORDER BY sequence_no LIMIT :limit FOR UPDATE SKIP LOCKED))`,
      request,
    );
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

  /** With a stricter isolation level, concurrent claims fail instead of skipping locked rows. */
  async #checkIsolation(connection: SqlConnection): Promise<void> {
    if (this.#isolationIsChecked) return;
    const [row] = await this.sql.query(
      connection,
      "SELECT current_setting('transaction_isolation') AS level",
    );
    const level = String(row?.['level']);
    if (!level.startsWith('read')) throw new OutboxIsolationError(level);
    this.#isolationIsChecked = true;
  }
}
