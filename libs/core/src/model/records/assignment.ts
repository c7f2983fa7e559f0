import type { OffsetCommit, TransactionOffsets } from '@nest-event-bus/broker';

/** The member of the group that may commit for a partition. */
export type CommittingMember = Omit<TransactionOffsets, 'offsets'>;

/** The assignment of a partition to this process in which a record was handed out. */
export interface Assignment {
  /**
   * False if the group may have given the partition to another member, by the clock. No handler may
   * begin then.
   */
  readonly holdsLease: boolean;
  /**
   * Returns the current member; undefined once the assignment has ended, because nothing may be
   * committed then.
   */
  member(): CommittingMember | undefined;
  /**
   * True if offsets of this assignment must not be committed, because the topic was deleted and
   * created again. Brokers accept commits by name, so they would hide records of the new topic.
   */
  readonly isCommittingStopped: boolean;
  /** Resolves with the committed offset of the group, read from the broker; 0 if there is none. */
  stored(): Promise<number>;
  /** Called when the group has stored this offset, so that the lane does not commit it again. */
  confirm(commit: OffsetCommit): void;
}
