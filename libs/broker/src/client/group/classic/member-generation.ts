import { Deferred } from '../../../runtime/index.js';
import { isSameGeneration, type MemberSnapshot } from '../membership.js';
import type { RevocationReason } from '../partition-handover.js';

/** Our partitions are wanted back, or the group wants to know what we have; they are still ours. */
export interface GenerationEnd {
  readonly kind: 'ended';
  readonly reason: RevocationReason;
}

/** One generation in which we are a member. */
export class MemberGeneration {
  readonly end = new Deferred<GenerationEnd>();
  /** `onAssigned` has ended. */
  isAssigned = false;
  /** We have to join again, or are out. */
  isOver = false;

  constructor(
    readonly snapshot: MemberSnapshot,
    /** Whether what is ours stays so while we join again. */
    readonly cooperative: boolean,
  ) {}

  isOf(snapshot: MemberSnapshot): boolean {
    return isSameGeneration(this.snapshot, snapshot);
  }
}
