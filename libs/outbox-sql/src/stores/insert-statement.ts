import {
  type EventEnvelope,
  EventStatus,
  IllegalArgumentError,
  type JsonCodec,
} from '@nest-event-bus/outbox';
import type { SqlValue } from '../connections/sql-session.js';
import type { PayloadColumn, RowColumn, SqlDialect } from '../dialects/sql-dialect.js';
import { PayloadKind } from './event-rows.js';
import { hash48 } from './order-key-hash.js';

/** The most rows of one INSERT. SQLite accepts no more than 500 rows of parameters. */
const MAX_ROWS = 200;
/** The most bytes of one INSERT. MySQL accepts packets of 16 MiB by default. */
const MAX_BYTES = 8 * 1_048_576;

const columnsOf = (payload: PayloadColumn): readonly RowColumn[] => [
  { name: 'event_id', type: 'text' },
  { name: 'event_type', type: 'text' },
  { name: 'aggregate_type', type: 'text' },
  { name: 'aggregate_id', type: 'text' },
  { name: 'tenant_id', type: 'text' },
  { name: 'payload', type: payload === 'json' ? 'json' : 'bytes' },
  { name: 'payload_kind', type: 'integer' },
  { name: 'headers', type: 'json' },
  { name: 'occurred_at', type: 'time' },
  { name: 'key_hash', type: 'integer' },
  { name: 'insert_no', type: 'integer' },
];

export interface InsertRows {
  /** The rows as a table with the columns of the event. */
  readonly rows: string;
  readonly count: number;
  readonly parameters: Readonly<Record<string, SqlValue>>;
}

/** Builds the parameters of the rows that an INSERT writes. */
export class InsertStatement {
  readonly #columns: readonly RowColumn[];

  constructor(
    private readonly dialect: SqlDialect,
    private readonly payload: PayloadColumn,
    private readonly codec: JsonCodec,
  ) {
    this.#columns = columnsOf(payload);
  }

  /** The columns that are inserted, and the expressions that give their values. */
  target(payloadExpression: string, headersExpression: string): { into: string; select: string } {
    return {
      into: 'event_id, event_type, aggregate_type, aggregate_id, tenant_id, payload, payload_kind, headers, status, attempts, available_at, created_at, key_hash',
      select: `event_id, event_type, aggregate_type, aggregate_id, tenant_id, ${payloadExpression}, payload_kind, ${headersExpression}, ${EventStatus.NEW}, 0, occurred_at, occurred_at, key_hash`,
    };
  }

  /** Splits the events so that each part fits into one statement. */
  split(events: readonly EventEnvelope[]): readonly (readonly EventEnvelope[])[] {
    const parts: EventEnvelope[][] = [];
    let bytes = 0;
    for (const event of events) {
      const size = Buffer.byteLength(event.payloadJson ?? event.payloadBytes);
      const last = parts.at(-1);
      if (last && last.length < MAX_ROWS && bytes + size <= MAX_BYTES) {
        last.push(event);
        bytes += size;
      } else {
        parts.push([event]);
        bytes = size;
      }
    }
    return parts;
  }

  rows(events: readonly EventEnvelope[]): InsertRows {
    const parameters: Record<string, SqlValue> = {};
    events.forEach((event, row) => {
      for (const [name, value] of Object.entries(this.#valuesOf(event, row)))
        parameters[`${name}${row}`] = value;
    });
    return {
      rows: this.dialect.rows(this.#columns, events.length),
      count: events.length,
      parameters,
    };
  }

  #valuesOf(event: EventEnvelope, row: number): Readonly<Record<string, SqlValue>> {
    return {
      event_id: storable(event.eventId, 'event id'),
      event_type: storable(event.eventType, 'event type'),
      aggregate_type: storable(event.aggregateType, 'aggregate type'),
      aggregate_id: storable(event.aggregateId, 'aggregate id'),
      tenant_id: storable(event.tenantId, 'tenant id'),
      payload: this.#payloadOf(event),
      payload_kind: event.isBinary ? PayloadKind.bytes : PayloadKind.json,
      headers: this.codec.toJson(event.headers),
      occurred_at: this.dialect.timeValue(event.occurredAt),
      key_hash: event.orderKey === null ? null : hash48(event.orderKey),
      insert_no: row,
    };
  }

  #payloadOf(event: EventEnvelope): SqlValue {
    const json = event.payloadJson;
    if (this.payload === 'binary') return json === null ? event.payloadBytes : Buffer.from(json);
    if (json === null)
      throw new IllegalArgumentError(
        "The event has a binary payload, and the store keeps payloads as JSON. Use payload: 'binary' for the schema and the store.",
      );
    // PostgreSQL has no such character in a JSONB value.
    if (this.dialect.name === 'postgres' && /\\u0000/.test(json.replaceAll('\\\\', '')))
      throw new IllegalArgumentError(
        "The payload contains \\u0000, which a JSONB column cannot keep. Remove it, or use payload: 'binary' for the schema and the store.",
      );
    return json;
  }
}

/** No text column of PostgreSQL can keep the character U+0000, so no store does. */
function storable(text: string | null, what: string): string | null {
  if (text?.includes('\0'))
    throw new IllegalArgumentError(
      `The ${what} contains the character U+0000, which databases cannot keep. Remove it.`,
    );
  return text;
}
