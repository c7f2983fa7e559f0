import type { TopicPartition } from '@nest-event-bus/broker';

/** The first unfinished record of a partition that a session owns. */
export interface HeadRecord {
  readonly offset: number;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** Start of its handler, in milliseconds since 1970; undefined while no handler runs. */
  readonly runningSince: number | undefined;
  /** How often it has failed since the partition was assigned. */
  readonly failures: number;
}

/** What a session knows of a partition that it owns. */
export interface LaneView extends TopicPartition {
  /** The first unfinished offset. Nothing from there on may be committed. */
  readonly watermark: number;
  /** Undefined if the session does not hold the record at the watermark. */
  readonly head: HeadRecord | undefined;
  /** True while the first record of a retry topic is not due. */
  readonly waitsForDueTime: boolean;
}
