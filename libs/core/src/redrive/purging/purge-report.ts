/** What was deleted in one partition of the dead-letter topic. */
export interface PurgedPartition {
  readonly partition: number;
  /** Letters before this offset are deleted. */
  readonly low: number;
  /** The number of letters that this purge has deleted. */
  readonly deleted: number;
  /**
   * Why requested letters from `low` on were kept: a letter before them belongs to another binding,
   * or is open and not part of the plan. Kafka deletes only from the
   * beginning of a partition.
   */
  readonly stoppedBy?: 'other-binding' | 'not-in-plan';
}

export interface PurgeReport {
  readonly deleted: number;
  readonly partitions: readonly PurgedPartition[];
}
