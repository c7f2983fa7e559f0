import type { TopicPartition } from '@nest-event-bus/broker';

/** `dead-letter` gives the record up, `skip` lets the watermark pass it and leaves only a log line. */
export type RecordDecision = 'dead-letter' | 'skip';

/** An operator's decision about a record that its partition waits for. `retry` delivers it again, at once unless something else pauses the partition. */
export type Decision = 'retry' | RecordDecision;

/** The partition of a record that waits for a decision. */
export interface DecisionPlace extends TopicPartition {
  /** The record that is meant: if another one waits by now, nothing is decided. Absent, the decision is about whichever record waits. */
  readonly offset?: number;
}
