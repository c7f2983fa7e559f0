import { NO_GENERATION } from '../../../assignment/index.js';
import type { GroupProtocol } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import { Deferred } from '../../../runtime/index.js';
import type { MemberSnapshot } from '../membership.js';

/** Our partitions are wanted back, or the group wants to know what we have; they are still ours. */
export interface HandBack {
  readonly kind: 'hand-back';
  readonly because: 'rebalance' | 'rejoin' | 'closing';
}

/** One generation in which we are a member. */
export class Term {
  readonly handBack = new Deferred<HandBack>();
  /** `onAssigned` has ended. */
  assigned = false;
  /** We have to join again, or are out. */
  over = false;

  constructor(
    readonly snapshot: MemberSnapshot,
    /** Whether what is ours stays so while we join again. */
    readonly cooperative: boolean,
  ) {}

  isOf(snapshot: MemberSnapshot): boolean {
    return isSame(this.snapshot, snapshot);
  }
}

export function isSame(one: MemberSnapshot, other: MemberSnapshot): boolean {
  return one.memberId === other.memberId && one.generation === other.generation;
}

export const noMember = (groupId: string, protocol: GroupProtocol = 'classic'): MemberSnapshot => ({
  groupId,
  memberId: '',
  generation: NO_GENERATION,
  groupInstanceId: null,
  protocol,
});

export const keyOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;
