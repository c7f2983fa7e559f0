import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Assignment } from '../records/assignment.js';
import type { DeliveryHistory } from './delivery-history.js';

/** A record that a lane hands to the pipeline. It belongs to one assignment of its partition. */
export interface Delivery {
  readonly record: BrokerRecord;
  /** The earlier deliveries of the record in this assignment. */
  readonly history: DeliveryHistory;
  /**
   * The start of its slice, or of its own hand-out if records run in parallel: milliseconds since
   * 1970. Never before the record was due.
   */
  readonly receivedAt: number;
  /** The same time on the monotonic clock. The retry budget counts from this time. */
  readonly readySince: number;
  /** Index of the session within its container. */
  readonly sessionIndex: number;
  /**
   * The assignment, for committing the record's offset together with something else, such as a
   * transaction.
   */
  readonly assignment: Assignment | undefined;
  /**
   * Called when the handler has returned and its effects are still being stored. If a store is
   * down, that may take long, and the time must not count as the handler's. `error` is the reason
   * for which the record waits.
   */
  onHandlerReturned(error?: Error): void;
  /**
   * Abort signal of the work, created when it is first read. Aborts when the partition is revoked
   * or the drain time is over.
   */
  readonly signal: AbortSignal;
  /**
   * Abort signal of waits, created when it is first read. Aborts earlier than `signal`: as soon as
   * a revocation, a pause or a drain begins. A wait before another attempt then ends, and the
   * record is handed back. A running handler continues.
   */
  readonly waitSignal: AbortSignal;
  /**
   * True if no further step of the delivery may begin: `waitSignal` is aborted, or the lease of the
   * assignment has ended. Reads the clock, and does not create the signal.
   */
  readonly isCancelled: boolean;
}
