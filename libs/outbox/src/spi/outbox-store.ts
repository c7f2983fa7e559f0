import type { EventEnvelope } from '../model/event-envelope.js';
import type { OutboxEvent } from '../model/outbox-event.js';
import type { OutboxInspection } from './outbox-inspection.js';
import type { SqlConnection } from './sql-connection.js';

export interface DeadEventQuery {
  readonly eventType?: string;
  readonly aggregateType?: string;
  readonly limit: number;
}

export interface InsertOptions {
  /**
   * Takes a lock on the key of each event until the transaction ends, in a fixed order of the keys.
   * The sequence of the rows of a key is then the order of the commits. Default false.
   */
  readonly lockKeys?: boolean;
}

/**
 * Reads and writes the outbox table. Each method uses the connection that it gets, never closes it,
 * and neither begins nor ends a transaction. Times are milliseconds since 1970, durations are
 * milliseconds. A method that changes rows returns their number. Every value is a bound parameter.
 */
export interface OutboxStore {
  /** The name of the store in messages. */
  readonly name: string;
  /** What health and operators see. A store of your own may leave it out. */
  readonly inspection?: OutboxInspection;
  /** Inserts a row: NEW, no attempts, `availableAt` and `createdAt` are `occurredAt`. */
  insertNew(connection: SqlConnection, event: EventEnvelope): Promise<void>;
  /** Inserts all events in one round trip where the database can. */
  insertAll(
    connection: SqlConnection,
    events: readonly EventEnvelope[],
    options?: InsertOptions,
  ): Promise<void>;
  /** DONE: sets `doneAt`, clears the lock. Changes no row that is DONE. */
  markDone(connection: SqlConnection, eventId: string): Promise<number>;
  /**
   * RETRY: adds one attempt, sets `availableAt` and `lastError` (at most 4,000 characters), clears
   * the lock. Changes no row that is DONE.
   */
  markRetry(
    connection: SqlConnection,
    eventId: string,
    nextAt: number,
    error: string,
  ): Promise<number>;
  /**
   * DEAD: sets `lastError` (at most 4,000 characters), clears the lock. The attempts stay as they
   * are. Changes no row that is DONE.
   */
  markDead(connection: SqlConnection, eventId: string, error: string): Promise<number>;
  /**
   * Returns rows that are NEW or RETRY, with `availableAt <= now` and `createdAt <= now - skipRecentMs`,
   * in the order of `createdAt` and, within a millisecond, of `eventId`.
   */
  pollPending(
    connection: SqlConnection,
    now: number,
    skipRecentMs: number,
    limit: number,
  ): Promise<readonly OutboxEvent[]>;
  /**
   * As `pollPending`, and locks the rows in the same step: sets `lockedBy` to the owner and
   * `lockedAt` to `now`. Rows whose `lockedAt` is at or after `lockExpiry` belong to another owner and are left out.
   */
  claimPending(
    connection: SqlConnection,
    ownerId: string,
    now: number,
    lockExpiry: number,
    skipRecentMs: number,
    limit: number,
  ): Promise<readonly OutboxEvent[]>;
  /** Returns DEAD rows, the oldest first. */
  queryDead(connection: SqlConnection, query: DeadEventQuery): Promise<readonly OutboxEvent[]>;
  /**
   * Makes a DEAD row NEW: no attempts, available now, no error, no lock, and its place in the order
   * kept. Changes no row that is not DEAD.
   */
  replayDead(connection: SqlConnection, eventId: string, now: number): Promise<number>;
  countDead(connection: SqlConnection, eventType?: string): Promise<number>;
}
