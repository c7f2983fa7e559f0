import { Deferred } from '../../../runtime/index.js';
import { isSameGeneration, type MemberSnapshot } from '../membership.js';
import type { RevocationReason } from '../partition-handover.js';

/**
 * Reports that the generation ends, because the group rebalances or this member rejoins or closes.
 * The partitions are still owned.
 */
export interface GenerationEnd {
  readonly kind: 'ended';
  readonly reason: RevocationReason;
}

/** One generation of the group with this member in it. */
export class MemberGeneration {
  readonly end = new Deferred<GenerationEnd>();
  /** True once `onAssigned` has ended. */
  isAssigned = false;
  /** True once the member has to join again, or is no longer a member. */
  isOver = false;

  constructor(
    readonly snapshot: MemberSnapshot,
    /** Whether the member keeps its partitions while it joins again. */
    readonly cooperative: boolean,
  ) {}

  isOf(snapshot: MemberSnapshot): boolean {
    return isSameGeneration(this.snapshot, snapshot);
  }
}
