import type { DltCause, DltReason } from '../records/dlt-record.js';

/** The topic in which a record failed; tier 0 is the main topic. */
export interface FailureLocation {
  readonly topic: string;
  readonly tier: number;
}

/** Counts failed records, and the topics that took them. It must not throw. */
export interface FailureObserver {
  /** Called once per failed delivery, with the class of the error. */
  failed(place: FailureLocation, exception: string): void;
  /** Called when the topic of tier `to` has acknowledged the record. */
  retried(place: FailureLocation, to: number): void;
  /** Called when the dead-letter topic has acknowledged the record. */
  deadLettered(place: FailureLocation, reason: DltReason, cause: DltCause): void;
}
