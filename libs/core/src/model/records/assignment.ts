import type { OffsetCommit, TransactionOffsets } from '@nest-event-bus/broker';

/** The member of the group that may commit for a partition. */
export type CommittingMember = Omit<TransactionOffsets, 'offsets'>;

/** The assignment of a partition to us, from which a record was handed out. */
export interface Assignment {
  /**
   * Whether the group cannot have given the partition to another member yet, by the clock. While it
   * does not hold, no handler may begin.
   */
  readonly holdsLease: boolean;
  /** As it is at this moment; undefined once the assignment has ended: what is done by then is not ours to commit. */
  member(): CommittingMember | undefined;
  /** The offset that the group has, asked from the broker. 0 where it has none. */
  stored(): Promise<number>;
  /** The group has this offset: nobody needs to commit it. */
  confirm(commit: OffsetCommit): void;
}
