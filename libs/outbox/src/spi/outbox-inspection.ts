import type { EventStatus } from '../model/event-status.js';
import type { OutboxEvent } from '../model/outbox-event.js';
import type { SqlConnection } from './sql-connection.js';

/** An event as operators see it: without its payload and its headers. */
export interface ListedEvent {
  /** The place of the event in the table. */
  readonly sequence: number;
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string | null;
  readonly aggregateId: string | null;
  readonly tenantId: string | null;
  readonly status: EventStatus;
  readonly attempts: number;
  readonly availableAt: number;
  readonly createdAt: number;
  readonly lastError: string | null;
  /** True for a DEAD event that keeps the later events of its key back. */
  readonly blocksKey: boolean;
}

export interface EventFilter {
  readonly eventType?: string;
  readonly aggregateType?: string;
  readonly aggregateId?: string;
  /** Events that were created before this time, in milliseconds since 1970. */
  readonly createdBefore?: number;
}

export interface EventSelection extends EventFilter {
  /** `pending`: NEW or RETRY. */
  readonly status: 'pending' | 'dead';
  /** Events behind this place. */
  readonly afterSequence?: number;
  /** Events up to this place. */
  readonly upToSequence?: number;
  readonly limit: number;
}

export interface OutboxFigures {
  /** Events that are NEW or RETRY. */
  readonly pending: number;
  readonly dead: number;
  /** Keys whose later events wait behind a DEAD one. */
  readonly blockedKeys: number;
  /** How long the event has been due that waits for longest; 0 if none is due. */
  readonly longestDueMs: number;
}

/** What health and operators need of a store. A store of your own may leave it out. */
export interface OutboxInspection {
  /** Counts up to the limit, so that a large table costs no more. Times are by the database's clock. */
  figures(connection: SqlConnection, limit: number): Promise<OutboxFigures>;
  /** Returns events in the order of their sequence. */
  listEvents(connection: SqlConnection, selection: EventSelection): Promise<readonly ListedEvent[]>;
  /** Returns an event with its payload; null if there is none. */
  readEvent(connection: SqlConnection, eventId: string): Promise<OutboxEvent | null>;
  /** Deletes those of the events that are DEAD and block no key. Returns their number. */
  purgeDead(connection: SqlConnection, eventIds: readonly string[]): Promise<number>;
}
