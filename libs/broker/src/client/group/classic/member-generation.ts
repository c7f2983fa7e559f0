import { Deferred } from '../../../runtime/index.js';
import { isSameGeneration, type MemberSnapshot } from '../membership.js';
import type { RevocationReason } from '../partition-handover.js';

/**
 * The end of a generation, because the group rebalances or because this member rejoins or closes.
 * The partitions are still owned.
 */
export interface GenerationEnd {
  readonly kind: 'ended';
  readonly reason: RevocationReason;
}

/** A generation of the group in which this member takes part. */
export class MemberGeneration {
  readonly end = new Deferred<GenerationEnd>();
  /** True once `onAssigned` has ended. */
  isAssigned = false;
  /** True once the member has to rejoin or no longer belongs to the group. */
  isOver = false;

  constructor(
    readonly snapshot: MemberSnapshot,
    /** True if the member keeps its partitions while it rejoins. */
    readonly cooperative: boolean,
  ) {}

  isOf(snapshot: MemberSnapshot): boolean {
    return isSameGeneration(this.snapshot, snapshot);
  }
}
