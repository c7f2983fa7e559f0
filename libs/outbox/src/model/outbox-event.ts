import type { EventStatus } from './event-status.js';

/** A row of the outbox table. Times are milliseconds since 1970. */
export interface OutboxEvent {
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string | null;
  readonly aggregateId: string | null;
  readonly tenantId: string | null;
  /** JSON text, or bytes if the event was written with `payloadBinary`. */
  readonly payload: string | Uint8Array;
  /** The headers as the codec of the store encoded them; null without headers. */
  readonly headersJson: string | null;
  readonly status: EventStatus;
  readonly attempts: number;
  readonly availableAt: number;
  readonly createdAt: number;
  readonly doneAt: number | null;
  readonly lastError: string | null;
  readonly lockedBy: string | null;
  readonly lockedAt: number | null;
}

/** An event that a claim of the leased mode holds. */
export interface ClaimedEvent extends OutboxEvent {
  /** Grows with each insertion. Within a key it is the order of the commits. */
  readonly sequence: number;
  /**
   * The number of earlier attempts that were started and never ended, because their process died or
   * lost its lease. Above 0, the event may be the one that kills its process.
   */
  readonly unfinishedAttempts: number;
}
