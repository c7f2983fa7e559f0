import type { BrokerRecord } from '@nest-event-bus/broker';
import type { Assignment } from '../records/assignment.js';
import type { DeliveryHistory } from './delivery-history.js';

/** A record that a lane hands to the pipeline. It belongs to one assignment of its partition. */
export interface Delivery {
  readonly record: BrokerRecord;
  /** The earlier deliveries of the record in this assignment. */
  readonly history: DeliveryHistory;
  /** The start of its slice, or of its own turn if records run in parallel: milliseconds since 1970. Never before the record was due. */
  readonly receivedAt: number;
  /** The same by the monotonic clock. The retry budget counts from here. */
  readonly readySince: number;
  /** Index of the session within its container. */
  readonly sessionIndex: number;
  /** Commits the record's offset as part of something else, such as a transaction. */
  readonly assignment: Assignment | undefined;
  /**
   * The handler has returned, and its effects are being stored. A store that is down makes that
   * take long, and the time must not count as the handler's. `error` is what the record waits for.
   */
  onHandlerReturned(error?: Error): void;
  /** Created at first access. Aborts when the partition is taken away or the drain time is over. */
  readonly signal: AbortSignal;
  /**
   * Created at first access. Aborts sooner than `signal`: as soon as the partition is asked back or
   * the session pauses or drains. A wait before another attempt ends with it (hand the record
   * back); a running handler goes on.
   */
  readonly waitSignal: AbortSignal;
  /**
   * Whether no further step may begin: `waitSignal` is aborted, or the lease of the assignment has
   * ended. Reads the clock, and does not create the signal.
   */
  readonly isCancelled: boolean;
}
