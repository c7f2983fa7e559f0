import { NO_GENERATION } from '../../assignment/index.js';
import type { TopicPartition } from '../../port/record.js';
import { Deferred } from '../../runtime/index.js';
import type { Loss } from './heart.js';
import type { JoinedGroup } from './join-round.js';
import type { MemberSnapshot } from './membership.js';

/** Our partitions are wanted back, and still ours until they have been handed over. */
export interface HandBack {
  readonly kind: 'hand-back';
  readonly because: 'rebalance' | 'rejoin' | 'closing';
}

/** One generation in which we are a member, from the sync until the partitions are handed back or lost. */
export class Term {
  readonly snapshot: MemberSnapshot;
  readonly partitions: readonly TopicPartition[];
  readonly handBack = new Deferred<HandBack>();
  readonly loss = new Deferred<Loss>();
  /** `onAssigned` has ended. */
  assigned = false;
  readonly #owned: ReadonlySet<string>;
  readonly #ending = new AbortController();

  constructor(groupId: string, { memberId, generation, partitions }: JoinedGroup) {
    this.snapshot = { groupId, memberId, generation };
    this.partitions = partitions;
    this.#owned = new Set(partitions.map(keyOf));
  }

  owns(partition: TopicPartition): boolean {
    return this.#owned.has(keyOf(partition));
  }

  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  async ended(): Promise<HandBack | Loss> {
    const end = await Promise.race([this.handBack.promise, this.loss.promise]);
    this.#ending.abort(new Error('The partitions are handed back or lost.'));
    return end;
  }

  isOf(snapshot: MemberSnapshot): boolean {
    return isSame(this.snapshot, snapshot);
  }
}

export function isSame(one: MemberSnapshot, other: MemberSnapshot): boolean {
  return one.memberId === other.memberId && one.generation === other.generation;
}

export const noMember = (groupId: string): MemberSnapshot => ({
  groupId,
  memberId: '',
  generation: NO_GENERATION,
});

export const keyOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;
