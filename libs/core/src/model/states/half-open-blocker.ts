import type { TopicPartition } from '@nest-event-bus/broker';

export interface BlockingRecord extends TopicPartition {
  readonly offset: number;
}

/** The record that keeps the circuit of its binding from closing. Health and logs show it. */
export interface HalfOpenBlocker {
  /**
   * The record that used all half-open calls several times in a row; undefined if there is none.
   */
  readonly record: BlockingRecord | undefined;
}
