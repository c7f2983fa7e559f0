import type { EventStatus } from '../model/event-status.js';
import type { ClaimedEvent } from '../model/outbox-event.js';

/** A row that the store changes in place. */
export type MemoryRow = {
  -readonly [K in keyof ClaimedEvent]: ClaimedEvent[K];
} & {
  status: EventStatus;
  readonly orderKey: string | null;
  /** The end of the lease in leased mode. */
  lockedUntil: number | null;
  blocksKey: boolean;
};
