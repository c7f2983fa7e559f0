import type { ClaimedEvent } from '../model/outbox-event.js';
import type { OutboxStore } from './outbox-store.js';
import type { SqlConnection } from './sql-connection.js';

export interface LeaseRequest {
  /** Identifies this one claim. Every later write of the claim checks it. At most 128 characters. */
  readonly token: string;
  readonly leaseMs: number;
  readonly limit: number;
  /**
   * `key`: returns only events whose earlier events of the same key are finished or in the same
   * result, in the order of the sequence. An earlier event that waits for a retry, that another
   * claim holds, or that is DEAD and blocks its key, keeps the later ones back. `none`: any events.
   */
  readonly order: 'key' | 'none';
}

/** What became of a claimed event. */
export type EventOutcome =
  | { readonly kind: 'done'; readonly eventId: string }
  /** Counts one attempt. */
  | {
      readonly kind: 'retry';
      readonly eventId: string;
      readonly delayMs: number;
      readonly error: string;
    }
  | {
      readonly kind: 'dead';
      readonly eventId: string;
      readonly error: string;
      /** Keeps the later events of the key back until the key is unblocked or skipped. */
      readonly blocksKey: boolean;
    }
  /** Gives the event back without an attempt. */
  | {
      readonly kind: 'released';
      readonly eventId: string;
      readonly delayMs: number;
      /** The count to store: 0 after an attempt that ended, else the count before the lease. */
      readonly unfinishedAttempts: number;
    };

export interface BlockedKey {
  readonly key: string;
  /** The first DEAD event that blocks the key. */
  readonly eventId: string;
  readonly lastError: string | null;
  /** The number of events of the key that are NEW or RETRY. */
  readonly waiting: number;
}

/**
 * The operations of the leased mode. Leases start and end by the clock of the database, so all
 * times that go in are durations.
 */
export interface LeasedOutboxStore extends OutboxStore {
  /**
   * Locks due events that no valid lease holds, and stores the token and the end of the lease. The
   * results have the count of unfinished attempts from before the lease. The stored count becomes 1
   * if it was 0, because these events are started without another round trip.
   *
   * An event whose count is above 0 may have killed its process. A lease returns at most one such
   * event, and its stored count stays as it is until `markStarted`.
   */
  lease(connection: SqlConnection, request: LeaseRequest): Promise<readonly ClaimedEvent[]>;
  /** Counts one more unfinished attempt of a claimed event. Returns 0 if the lease was lost. */
  markStarted(connection: SqlConnection, token: string, eventId: string): Promise<number>;
  /**
   * Moves the end of the lease of all events that the token still holds. Returns their number. A
   * lease that has ended by the clock of the database is not renewed.
   */
  renew(connection: SqlConnection, token: string, leaseMs: number): Promise<number>;
  /**
   * Ends claimed events, hundreds in a few statements, and clears their lease. Sets the count of
   * unfinished attempts to 0, or for `released` to the given count. Changes only rows that the token
   * still holds, whether or not the lease has ended. Returns the ids that were changed.
   */
  complete(
    connection: SqlConnection,
    token: string,
    outcomes: readonly EventOutcome[],
  ): Promise<readonly string[]>;
  blockedKeys(connection: SqlConnection, limit: number): Promise<readonly BlockedKey[]>;
  /** Makes the DEAD events that block the key NEW again, at their old place. Returns their number. */
  unblockKey(connection: SqlConnection, key: string): Promise<number>;
  /** Lets later events of the key pass. The DEAD events stay DEAD. Returns their number. */
  skipKey(connection: SqlConnection, key: string): Promise<number>;
}
