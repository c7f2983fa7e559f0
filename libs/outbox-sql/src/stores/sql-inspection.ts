import type {
  EventSelection,
  ListedEvent,
  OutboxEvent,
  OutboxFigures,
  OutboxInspection,
  SqlConnection,
} from '@nest-event-bus/outbox';
import type { SqlRow, SqlValue } from '../connections/sql-session.js';
import type { SqlDialect } from '../dialects/sql-dialect.js';
import { eventOf, textOf } from './event-rows.js';
import type { SqlTemplate } from './sql-template.js';

/** Shows the events of a table to health and operators. */
export class SqlInspection implements OutboxInspection {
  constructor(
    private readonly dialect: SqlDialect,
    private readonly sql: SqlTemplate,
    private readonly eventColumns: string,
  ) {}

  async figures(connection: SqlConnection, limit: number): Promise<OutboxFigures> {
    const { now, pending } = this.dialect;
    const ms = (expression: string): string => this.dialect.milliseconds(expression);
    const [row = {}] = await this.sql.query(
      connection,
      `SELECT ${this.#count(pending)} AS pending, ${this.#count('status = 3')} AS dead, (SELECT COUNT(DISTINCT key_hash) FROM ${this.sql.table} WHERE blocks_key = 1) AS blocked_keys, ${ms(now)} AS now_ms, ${ms(this.#firstDue(0))} AS new_since, ${ms(this.#firstDue(2))} AS retry_since`,
      { limit },
    );
    const dueSince = [row['new_since'], row['retry_since']]
      .filter((since) => since !== null && since !== undefined)
      .map(Number);
    return {
      pending: Number(row['pending']),
      dead: Number(row['dead']),
      blockedKeys: Number(row['blocked_keys']),
      longestDueMs: Math.max(0, ...dueSince.map((since) => Number(row['now_ms']) - since)),
    };
  }

  async listEvents(
    connection: SqlConnection,
    selection: EventSelection,
  ): Promise<readonly ListedEvent[]> {
    const { conditions, parameters } = this.#conditions(selection);
    const time = (column: string): string => `${this.dialect.milliseconds(column)} AS ${column}_ms`;
    const rows = await this.sql.query(
      connection,
      `SELECT sequence_no, event_id, event_type, aggregate_type, aggregate_id, tenant_id, status, attempts, ${time('available_at')}, ${time('created_at')}, last_error, blocks_key FROM ${this.sql.table} WHERE ${conditions.join(' AND ')} ORDER BY sequence_no LIMIT :limit`,
      { ...parameters, limit: selection.limit },
    );
    return rows.map(listedEventOf);
  }

  async readEvent(connection: SqlConnection, eventId: string): Promise<OutboxEvent | null> {
    const [row] = await this.sql.query(
      connection,
      `SELECT ${this.eventColumns} FROM ${this.sql.table} WHERE event_id = :eventId`,
      { eventId },
    );
    return row ? eventOf(row) : null;
  }

  async purgeDead(connection: SqlConnection, eventIds: readonly string[]): Promise<number> {
    if (eventIds.length === 0) return 0;
    const { sql, parameters } = this.dialect.among('event_id', eventIds);
    return this.sql.update(
      connection,
      `DELETE FROM ${this.sql.table} WHERE status = 3 AND blocks_key = 0 AND ${sql}`,
      parameters,
    );
  }

  #count(condition: string): string {
    return `(SELECT COUNT(*) FROM (SELECT 1 AS one FROM ${this.sql.table} WHERE ${condition} LIMIT :limit) AS counted)`;
  }

  /** The index of status and time answers this without reading rows. */
  #firstDue(status: 0 | 2): string {
    return `(SELECT MIN(available_at) FROM ${this.sql.table} WHERE status = ${status})`;
  }

  #conditions(selection: EventSelection): {
    readonly conditions: readonly string[];
    readonly parameters: Readonly<Record<string, SqlValue>>;
  } {
    const { status, eventType, aggregateType, aggregateId } = selection;
    const { createdBefore, afterSequence, upToSequence } = selection;
    const before = createdBefore === undefined ? undefined : this.dialect.timeValue(createdBefore);
    const wanted: readonly (readonly [string, string, SqlValue | undefined])[] = [
      ['event_type = :eventType', 'eventType', eventType],
      ['aggregate_type = :aggregateType', 'aggregateType', aggregateType],
      ['aggregate_id = :aggregateId', 'aggregateId', aggregateId],
      [`created_at < ${this.dialect.time(':before')}`, 'before', before],
      ['sequence_no > :afterSequence', 'afterSequence', afterSequence],
      ['sequence_no <= :upToSequence', 'upToSequence', upToSequence],
    ];
    const given = wanted.filter(([, , value]) => value !== undefined);
    return {
      conditions: [
        status === 'dead' ? 'status = 3' : this.dialect.pending,
        ...given.map(([condition]) => condition),
      ],
      parameters: Object.fromEntries(given.map(([, name, value]) => [name, value ?? null])),
    };
  }
}

const listedEventOf = (row: SqlRow): ListedEvent => ({
  sequence: Number(row['sequence_no']),
  eventId: String(row['event_id']),
  eventType: String(row['event_type']),
  aggregateType: textOf(row['aggregate_type']),
  aggregateId: textOf(row['aggregate_id']),
  tenantId: textOf(row['tenant_id']),
  status: Number(row['status']),
  attempts: Number(row['attempts']),
  availableAt: Number(row['available_at_ms']),
  createdAt: Number(row['created_at_ms']),
  lastError: textOf(row['last_error']),
  blocksKey: Number(row['blocks_key']) === 1,
});
