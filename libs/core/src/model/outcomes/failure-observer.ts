import type { DltCause, DltReason } from '../records/dlt-record.js';

/** Where a record has failed: 0 is the main topic. */
export interface FailureLocation {
  readonly topic: string;
  readonly tier: number;
}

/** Told of records that fail, and of where they have arrived. It must not throw. */
export interface FailureObserver {
  /** Once for each delivery, by the class of what was thrown. */
  failed(place: FailureLocation, exception: string): void;
  /** The topic of that tier has acknowledged it. */
  retried(place: FailureLocation, to: number): void;
  /** The dead-letter topic has acknowledged it. */
  deadLettered(place: FailureLocation, reason: DltReason, cause: DltCause): void;
}
