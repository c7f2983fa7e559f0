import {
  AbstractOutboxStore,
  type BlockedKey,
  type ClaimedEvent,
  type DeadEventQuery,
  type EventEnvelope,
  type EventOutcome,
  type InsertOptions,
  JsonCodec,
  type LeasedOutboxStore,
  type LeaseRequest,
  orderKeyOf,
  type OutboxEvent,
  type OutboxInspection,
  type SqlConnection,
} from '@nest-event-bus/outbox';
import type { SqlRow } from '../connections/sql-session.js';
import type { PayloadColumn, SqlDialect } from '../dialects/sql-dialect.js';
import { ClaimScan } from './claim-scan.js';
import { Completion, type HeldChange } from './completion.js';
import { byCreation, claimedEventOf, eventColumns, eventOf, textOf } from './event-rows.js';
import { type InsertRows, InsertStatement } from './insert-statement.js';
import { LeaseSql } from './lease-sql.js';
import { CLEARED_LOCK, errorText, NEW_AGAIN } from './row-changes.js';
import { hash48 } from './order-key-hash.js';
import { SqlInspection } from './sql-inspection.js';
import { type SqlParameters, SqlTemplate } from './sql-template.js';
import { checkedTableName, DEFAULT_TABLE } from './table-name.js';

export interface SqlOutboxStoreOptions {
  /** The name of the table, with a schema before it if needed. Default `outbox_event`. */
  readonly tableName?: string;
  /** Encodes the headers. */
  readonly codec?: JsonCodec;
  /**
   * `binary` keeps payloads byte by byte. `json` keeps them in a JSON column, which the database
   * can query and may write in another form. The schema has the same option. Default `binary`.
   */
  readonly payload?: PayloadColumn;
  /** A lease takes no further event after this number of payload bytes. Default 8 MiB. */
  readonly maxLeaseBytes?: number;
}

const DEFAULT_MAX_LEASE_BYTES = 8 * 1_048_576;

/** What all SQL stores have in common. The statements that differ are abstract. */
export abstract class AbstractSqlOutboxStore
  extends AbstractOutboxStore
  implements LeasedOutboxStore
{
  override readonly inspection: OutboxInspection;
  readonly table: string;
  readonly payload: PayloadColumn;
  protected readonly sql: SqlTemplate;
  protected readonly insert: InsertStatement;
  protected readonly leases: LeaseSql;
  protected readonly columns: string;
  readonly #maxLeaseBytes: number;
  readonly #completion: Completion;
  readonly #scan = new ClaimScan();

  constructor(
    protected readonly dialect: SqlDialect,
    options: SqlOutboxStoreOptions = {},
  ) {
    super();
    this.table = checkedTableName(options.tableName ?? DEFAULT_TABLE);
    this.payload = options.payload ?? 'binary';
    this.#maxLeaseBytes = options.maxLeaseBytes ?? DEFAULT_MAX_LEASE_BYTES;
    this.sql = new SqlTemplate(dialect.name, this.table);
    this.insert = new InsertStatement(
      dialect,
      this.payload,
      options.codec ?? JsonCodec.getDefault(),
    );
    this.leases = new LeaseSql(dialect, this.table, this.payload);
    this.columns = eventColumns(dialect, this.payload);
    this.inspection = new SqlInspection(dialect, this.sql, this.columns);
    this.#completion = new Completion(dialect, (connection, change) =>
      this.changeHeld(connection, change),
    );
  }

  /** Inserts rows after the keys of all events are locked. */
  protected abstract insertRows(
    connection: SqlConnection,
    rows: InsertRows,
    keysToLock: readonly string[],
  ): Promise<void>;

  /** Locks pending rows for an owner, and returns them in any order. */
  protected abstract claimRows(
    connection: SqlConnection,
    claim: SqlParameters,
  ): Promise<readonly SqlRow[]>;

  /** Leases events that have no unfinished attempts. Returns their number. */
  protected abstract leaseRows(
    connection: SqlConnection,
    order: 'key' | 'none',
    request: SqlParameters,
  ): Promise<number>;

  /** Changes rows that a token holds, in one statement. Returns the ids that were changed. */
  protected abstract changeHeld(
    connection: SqlConnection,
    change: HeldChange,
  ): Promise<readonly string[]>;

  async insertNew(connection: SqlConnection, event: EventEnvelope): Promise<void> {
    await this.insertAll(connection, [event]);
  }

  override async insertAll(
    connection: SqlConnection,
    events: readonly EventEnvelope[],
    { lockKeys = false }: InsertOptions = {},
  ): Promise<void> {
    let keysToLock = lockKeys ? keysOf(events) : [];
    for (const part of this.insert.split(events)) {
      await this.insertRows(connection, this.insert.rows(part), keysToLock);
      keysToLock = [];
    }
  }

  markDone(connection: SqlConnection, eventId: string): Promise<number> {
    return this.#mark(connection, `status = 1, done_at = ${this.dialect.now}`, { eventId });
  }

  markRetry(
    connection: SqlConnection,
    eventId: string,
    nextAt: number,
    error: string,
  ): Promise<number> {
    return this.#mark(
      connection,
      `status = 2, attempts = attempts + 1, available_at = ${this.dialect.time(':nextAt')}, last_error = :error`,
      { eventId, nextAt: this.dialect.timeValue(nextAt), error: errorText(error) },
    );
  }

  markDead(connection: SqlConnection, eventId: string, error: string): Promise<number> {
    return this.#mark(connection, 'status = 3, last_error = :error', {
      eventId,
      error: errorText(error),
    });
  }

  async pollPending(
    connection: SqlConnection,
    now: number,
    skipRecentMs: number,
    limit: number,
  ): Promise<readonly OutboxEvent[]> {
    const rows = await this.sql.query(
      connection,
      `SELECT ${this.columns} FROM ${this.table} WHERE ${this.#due} ORDER BY created_at, event_id LIMIT :limit`,
      this.#dueParameters(now, skipRecentMs, limit),
    );
    return rows.map(eventOf).sort(byCreation);
  }

  override async claimPending(
    connection: SqlConnection,
    ownerId: string,
    now: number,
    lockExpiry: number,
    skipRecentMs: number,
    limit: number,
  ): Promise<readonly OutboxEvent[]> {
    const rows = await this.claimRows(connection, {
      ...this.#dueParameters(now, skipRecentMs, limit),
      ownerId,
      expiry: this.dialect.timeValue(lockExpiry),
    });
    return rows.map(eventOf).sort(byCreation);
  }

  override async queryDead(
    connection: SqlConnection,
    { eventType, aggregateType, limit }: DeadEventQuery,
  ): Promise<readonly OutboxEvent[]> {
    const { where, parameters } = deadFilter(eventType, aggregateType);
    const rows = await this.sql.query(
      connection,
      `SELECT ${this.columns} FROM ${this.table} WHERE ${where} ORDER BY created_at, event_id LIMIT :limit`,
      { ...parameters, limit },
    );
    return rows.map(eventOf).sort(byCreation);
  }

  override replayDead(connection: SqlConnection, eventId: string, now: number): Promise<number> {
    return this.sql.update(
      connection,
      `UPDATE ${this.table} SET ${NEW_AGAIN}, available_at = ${this.dialect.time(':now')} WHERE event_id = :eventId AND status = 3`,
      { eventId, now: this.dialect.timeValue(now) },
    );
  }

  override async countDead(connection: SqlConnection, eventType?: string): Promise<number> {
    const { where, parameters } = deadFilter(eventType);
    const [row] = await this.sql.query(
      connection,
      `SELECT COUNT(*) AS dead FROM ${this.table} WHERE ${where}`,
      parameters,
    );
    return Number(row?.['dead'] ?? 0);
  }

  async lease(
    connection: SqlConnection,
    { token, leaseMs, limit, order }: LeaseRequest,
  ): Promise<readonly ClaimedEvent[]> {
    const suspectId = await this.#leaseSuspect(connection, order, { token, leaseMs });
    const plain = limit - (suspectId === null ? 0 : 1);
    const leased =
      plain > 0 ? await this.#leasePlain(connection, order, { token, leaseMs, limit: plain }) : 0;
    if (leased === 0 && suspectId === null) return [];
    const rows = await this.sql.query(
      connection,
      this.leases.read(order, `${this.columns}, sequence_no, unfinished_attempts`),
      { token, maxBytes: this.#maxLeaseBytes },
    );
    const events = rows.map((row) => claimedEventOf(row, row['event_id'] === suspectId));
    if (events.length < leased + (suspectId === null ? 0 : 1))
      await this.#giveBackOthers(connection, token, suspectId, events);
    return events;
  }

  #leasePlain(
    connection: SqlConnection,
    order: 'key' | 'none',
    request: SqlParameters,
  ): Promise<number> {
    return this.#scan.run({
      first: async (after) => {
        const [row] = await this.sql.query(connection, this.leases.firstPending, { after });
        const first = row?.['first_no'] ?? null;
        return first === null ? null : Number(first);
      },
      lease: (range) => this.leaseRows(connection, order, { ...request, ...range }),
    });
  }

  markStarted(connection: SqlConnection, token: string, eventId: string): Promise<number> {
    return this.sql.update(
      connection,
      `UPDATE ${this.table} SET unfinished_attempts = unfinished_attempts + 1 WHERE event_id = :eventId AND locked_by = :token AND ${this.dialect.pending}`,
      { token, eventId },
    );
  }

  renew(connection: SqlConnection, token: string, leaseMs: number): Promise<number> {
    return this.sql.update(
      connection,
      `UPDATE ${this.table} SET lease_until = ${this.dialect.after(':leaseMs')} WHERE locked_by = :token AND ${this.dialect.pending} AND lease_until > ${this.dialect.now}`,
      { token, leaseMs },
    );
  }

  complete(
    connection: SqlConnection,
    token: string,
    outcomes: readonly EventOutcome[],
  ): Promise<readonly string[]> {
    return this.#completion.complete(connection, token, outcomes);
  }

  async blockedKeys(connection: SqlConnection, limit: number): Promise<readonly BlockedKey[]> {
    const blocking = `SELECT key_hash FROM ${this.table} WHERE blocks_key = 1`;
    const rows = await this.sql.query(
      connection,
      `SELECT dead.event_id, dead.aggregate_type, dead.aggregate_id, dead.last_error, COALESCE(later.waiting, 0) AS waiting FROM ${this.table} dead JOIN (SELECT key_hash, MIN(sequence_no) AS first_no FROM ${this.table} WHERE blocks_key = 1 GROUP BY key_hash) AS firsts ON firsts.key_hash = dead.key_hash AND firsts.first_no = dead.sequence_no LEFT JOIN (SELECT key_hash, COUNT(*) AS waiting FROM ${this.table} WHERE ${this.dialect.pending} AND key_hash IN (${blocking}) GROUP BY key_hash) AS later ON later.key_hash = dead.key_hash WHERE dead.blocks_key = 1 ORDER BY dead.sequence_no LIMIT :limit`,
      { limit },
    );
    return rows.map((row) => ({
      key: orderKeyOf(String(row['aggregate_type']), String(row['aggregate_id'])),
      eventId: String(row['event_id']),
      lastError: textOf(row['last_error']),
      waiting: Number(row['waiting']),
    }));
  }

  unblockKey(connection: SqlConnection, key: string): Promise<number> {
    return this.sql.update(
      connection,
      `UPDATE ${this.table} SET ${NEW_AGAIN}, available_at = ${this.dialect.now} WHERE blocks_key = 1 AND key_hash = :keyHash`,
      { keyHash: hash48(key) },
    );
  }

  skipKey(connection: SqlConnection, key: string): Promise<number> {
    return this.sql.update(
      connection,
      `UPDATE ${this.table} SET blocks_key = 0 WHERE blocks_key = 1 AND key_hash = :keyHash`,
      { keyHash: hash48(key) },
    );
  }

  /** True for rows that a poll at `:now` returns. */
  get #due(): string {
    return `${this.dialect.pending} AND available_at <= ${this.dialect.time(':now')} AND created_at <= ${this.dialect.time(':newest')}`;
  }

  /** True for rows that a claim at `:now` takes. */
  protected get claimable(): string {
    return `${this.#due} AND (locked_at IS NULL OR locked_at < ${this.dialect.time(':expiry')})`;
  }

  #dueParameters(now: number, skipRecentMs: number, limit: number): SqlParameters {
    return {
      now: this.dialect.timeValue(now),
      newest: this.dialect.timeValue(now - skipRecentMs),
      limit,
    };
  }

  #mark(
    connection: SqlConnection,
    assignments: string,
    parameters: SqlParameters,
  ): Promise<number> {
    return this.sql.update(
      connection,
      `UPDATE ${this.table} SET ${assignments}, unfinished_attempts = 0, ${CLEARED_LOCK} WHERE event_id = :eventId AND status <> 1`,
      parameters,
    );
  }

  async #leaseSuspect(
    connection: SqlConnection,
    order: 'key' | 'none',
    lease: SqlParameters,
  ): Promise<string | null> {
    const [row] = await this.sql.query(connection, this.leases.firstSuspect(order));
    if (!row) return null;
    const eventId = String(row['event_id']);
    const changed = await this.sql.update(connection, this.leases.leaseSuspect(), {
      ...lease,
      eventId,
    });
    return changed > 0 ? eventId : null;
  }

  /** Releases the events that this token has claimed and that are not part of the returned lease. */
  async #giveBackOthers(
    connection: SqlConnection,
    token: string,
    suspectId: string | null,
    kept: readonly ClaimedEvent[],
  ): Promise<void> {
    const others = await this.sql.query(
      connection,
      `SELECT event_id, unfinished_attempts FROM ${this.table} WHERE locked_by = :token AND ${this.dialect.pending}`,
      { token },
    );
    const keptIds = new Set(kept.map(({ eventId }) => eventId));
    await this.complete(
      connection,
      token,
      others
        .map((row) => ({ eventId: String(row['event_id']), row }))
        .filter(({ eventId }) => !keptIds.has(eventId))
        .map(({ eventId, row }) => ({
          kind: 'released',
          eventId,
          delayMs: 0,
          unfinishedAttempts: eventId === suspectId ? Number(row['unfinished_attempts']) : 0,
        })),
    );
  }
}

function keysOf(events: readonly EventEnvelope[]): readonly string[] {
  const keys = events.map(({ orderKey }) => orderKey).filter((key) => key !== null);
  return [...new Set(keys)];
}

function deadFilter(
  eventType: string | undefined,
  aggregateType?: string,
): { readonly where: string; readonly parameters: SqlParameters } {
  const parameters: Record<string, string> = {};
  let where = 'status = 3';
  if (eventType !== undefined) {
    where += ' AND event_type = :eventType';
    parameters['eventType'] = eventType;
  }
  if (aggregateType !== undefined) {
    where += ' AND aggregate_type = :aggregateType';
    parameters['aggregateType'] = aggregateType;
  }
  return { where, parameters };
}
