import type { BrokerRecord, TopicPartition } from '@nest-event-bus/broker';
import type { Assignment } from '../records/assignment.js';
import type { FailureSummary } from './failed-before.js';
import type { FailedOutcome } from './outcome.js';

/** `dead-letter` gives the record up, `skip` lets the watermark pass it without a trace but in the log. */
export type RecordDecision = 'dead-letter' | 'skip';

/** What becomes of a record that its partition waits for; `retry` tries it again, at once where nothing else holds the partition. */
export type Decision = 'retry' | RecordDecision;

/** The partition of a record that waits for a decision. */
export interface DecisionPlace extends TopicPartition {
  /** Of that record: where another one waits by now, nothing is decided. Left out: whichever waits until somebody decides. */
  readonly offset?: number;
}

/** A record that intake hands to the pipeline. It belongs to one assignment of its partition. */
export interface Delivery {
  readonly record: BrokerRecord;
  /** How often this offset was handed out before in this assignment. */
  readonly redeliveries: number;
  /** How many of those failed. What was handed back, or never came to a call, is no attempt; left out, all of them count. */
  readonly failures?: number;
  /** Calls of the handler in the deliveries that failed. */
  readonly calls?: number;
  /** How they failed. */
  readonly failureSummary?: FailureSummary;
  /** When the first of those calls failed, by the monotonic clock. Left out: none did, or their time is not limited. */
  readonly failingSince?: number;
  /** It failed for good in an earlier delivery and could not be written to where it belongs; the handler is not called. */
  readonly pendingRouting?: FailedOutcome;
  /** What somebody decided about a record whose partition waited for a decision; the handler is not called. */
  readonly decision?: RecordDecision;
  /** Its latest failure before that. */
  readonly lastFailure?: FailedOutcome;
  /** When its slice began, or its own turn came where records run side by side: milliseconds since 1970. No sooner than it was due. */
  readonly receivedAt: number;
  /** The same by the monotonic clock, from which its budget counts. Left out: it is reckoned by the other one. */
  readonly readySince?: number;
  /** Index of the session within its container. */
  readonly sessionIndex: number;
  /** For who commits the record's offset with something else. */
  readonly assignment?: Assignment;
  /**
   * Its handler has answered, and what it did is being put down: that takes as long as the world is
   * broken, and is no time of the handler's. With what it waits for, if it does. Left out: nobody counts.
   */
  onHandlerReturned?(trouble?: Error): void;
  /** Created at first access. Aborts when the partition is taken away or the drain time is over. */
  readonly signal: AbortSignal;
  /**
   * Created at first access. Aborts sooner than `signal`: as soon as the partition is asked back or
   * the session pauses or drains. A wait before another attempt ends with it (hand the record
   * back); a handler that runs goes on.
   */
  readonly waitSignal?: AbortSignal;
  /** Whether `waitSignal` is aborted, without creating it: nothing is to begin any more. Left out: the signal tells. */
  readonly isCancelled?: boolean;
}
