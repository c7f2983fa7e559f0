import type { ClaimedEvent, OutboxEvent } from '@nest-event-bus/outbox';
import type { SqlRow } from '../connections/sql-session.js';
import type { PayloadColumn, SqlDialect } from '../dialects/sql-dialect.js';

/** The value of `payload_kind`. */
export const PayloadKind = { json: 0, bytes: 1 } as const;

/** The columns of an event, with times as milliseconds and JSON as text. */
export function eventColumns(dialect: SqlDialect, payload: PayloadColumn): string {
  const time = (column: string): string => `${dialect.milliseconds(column)} AS ${column}`;
  return [
    'event_id, event_type, aggregate_type, aggregate_id, tenant_id, payload_kind',
    payload === 'json' ? `${dialect.jsonText('payload')} AS payload` : 'payload',
    `${dialect.jsonText('headers')} AS headers`,
    'status, attempts',
    time('available_at'),
    time('created_at'),
    time('done_at'),
    'last_error, locked_by',
    time('locked_at'),
  ].join(', ');
}

export function eventOf(row: SqlRow): OutboxEvent {
  return {
    eventId: String(row['event_id']),
    eventType: String(row['event_type']),
    aggregateType: textOf(row['aggregate_type']),
    aggregateId: textOf(row['aggregate_id']),
    tenantId: textOf(row['tenant_id']),
    payload: payloadOf(row),
    headersJson: textOf(row['headers']),
    status: Number(row['status']),
    attempts: Number(row['attempts']),
    availableAt: Number(row['available_at']),
    createdAt: Number(row['created_at']),
    doneAt: numberOf(row['done_at']),
    lastError: textOf(row['last_error']),
    // A released event that may have killed its process has an empty owner.
    lockedBy: row['locked_by'] === '' ? null : textOf(row['locked_by']),
    lockedAt: numberOf(row['locked_at']),
  };
}

export const claimedEventOf = (row: SqlRow, isSuspect: boolean): ClaimedEvent => ({
  ...eventOf(row),
  sequence: Number(row['sequence_no']),
  unfinishedAttempts: isSuspect ? Number(row['unfinished_attempts']) : 0,
});

/** By creation, then by id: RETURNING has no order. */
export const byCreation = (a: OutboxEvent, b: OutboxEvent): number =>
  a.createdAt - b.createdAt || (a.eventId < b.eventId ? -1 : 1);

function payloadOf(row: SqlRow): string | Uint8Array {
  const payload = row['payload'];
  if (!(payload instanceof Uint8Array)) return String(payload);
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  return Number(row['payload_kind']) === PayloadKind.json ? bytes.toString('utf8') : bytes;
}

export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const numberOf = (value: unknown): number | null =>
  value === null || value === undefined ? null : Number(value);
