import type { EventEnvelope } from '../model/event-envelope.js';

/** HOT: straight from a commit in this process. COLD: from a poll. */
export type EventSource = 'HOT' | 'COLD';

export interface QueuedEvent {
  readonly envelope: EventEnvelope;
  readonly source: EventSource;
  /** The number of earlier attempts that have failed. */
  readonly attempts: number;
}
