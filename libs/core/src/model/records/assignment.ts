import type { OffsetCommit, TransactionOffsets } from '@nest-event-bus/broker';

/** The member of the group that may commit for a partition. */
export type CommittingMember = Omit<TransactionOffsets, 'offsets'>;

/** The assignment of a partition to this process, from which a record was handed out. */
export interface Assignment {
  /**
   * Whether the group cannot have given the partition to another member yet, by the clock. While it
   * does not hold, no handler may begin.
   */
  readonly holdsLease: boolean;
  /** The current member; undefined once the assignment has ended, because nothing may be committed then. */
  member(): CommittingMember | undefined;
  /** The committed offset of the group, read from the broker; 0 if there is none. */
  stored(): Promise<number>;
  /** Called after the group has this offset, so that the lane does not commit it again. */
  confirm(commit: OffsetCommit): void;
}
