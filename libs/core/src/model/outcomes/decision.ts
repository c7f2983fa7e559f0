import type { TopicPartition } from '@nest-event-bus/broker';

/**
 * `dead-letter` writes the record to the dead-letter topic. `skip` lets the watermark pass the
 * record, of which only a log line remains.
 */
export type RecordDecision = 'dead-letter' | 'skip';

/**
 * An operator's decision about a record for which its partition waits. `retry` delivers the record
 * again, at once unless another pause reason remains.
 */
export type Decision = 'retry' | RecordDecision;

/** The partition of a record that waits for a decision. */
export interface DecisionPlace extends TopicPartition {
  /**
   * The record that is meant. If the partition waits for another record now, nothing is decided. If
   * omitted, the decision is about the record that waits.
   */
  readonly offset?: number;
}
