import type { TopicPartition } from '../../port/record.js';

/**
 * The members that may have a partition. Topics with the same subscribers share one pool, so that
 * the work grows with the number of different subscriptions, not of topics.
 */
export interface EligibleMembers {
  readonly members: ReadonlySet<MemberLoad>;
}

/** A partition on its way to a member. */
export interface AssignablePartition extends TopicPartition {
  readonly eligible: EligibleMembers;
  /** By member id; null when nobody has a claim. */
  readonly previousOwner: string | null;
  /** Its place among all slots, by topic and partition. */
  readonly order: number;
}

/** A member and what it has been given so far: its own of before, and what visits it. */
export class MemberLoad {
  readonly #retained = new PartitionSet();
  readonly #acquired = new PartitionSet();

  constructor(
    readonly memberId: string,
    readonly topics: readonly string[],
    /** Its place among all members. */
    readonly order: number,
  ) {}

  get load(): number {
    return this.#retained.partitions.size + this.#acquired.partitions.size;
  }

  take(assigned: AssignablePartition): void {
    this.#setFor(assigned).add(assigned);
  }

  /** Who could take what visits this member: that moves anyway, so that giving it costs nothing. */
  receiversOfAcquired(): Iterable<MemberLoad> {
    return this.#acquired.receivers();
  }

  receiversOfRetained(): Iterable<MemberLoad> {
    return this.#retained.receivers();
  }

  /** Gives one partition to one of its receivers: what comes home, else what visits, else its own. */
  giveTo(receiver: MemberLoad): void {
    const assigned =
      this.#acquired.previouslyOwnedBy(receiver) ??
      this.#acquired.firstFor(receiver) ??
      this.#retained.firstFor(receiver);
    if (assigned === undefined)
      throw new Error(`"${this.memberId}" has nothing that "${receiver.memberId}" may have.`);
    this.#setFor(assigned).remove(assigned);
    receiver.take(assigned);
  }

  partitions(): TopicPartition[] {
    return [...this.#retained.partitions, ...this.#acquired.partitions]
      .sort((left, right) => left.order - right.order)
      .map(({ topic, partition }) => ({ topic, partition }));
  }

  #setFor(assigned: AssignablePartition): PartitionSet {
    return assigned.previousOwner === this.memberId ? this.#retained : this.#acquired;
  }
}

/** Slots, and who else could have one of them. */
class PartitionSet {
  readonly partitions = new Set<AssignablePartition>();
  readonly #countByEligible = new Map<EligibleMembers, number>();
  /** In how many of the pools held here each member is. */
  readonly #countByReceiver = new Map<MemberLoad, number>();

  add(assigned: AssignablePartition): void {
    this.partitions.add(assigned);
    if (addToCount(this.#countByEligible, assigned.eligible, 1) > 1) return;
    for (const member of assigned.eligible.members) addToCount(this.#countByReceiver, member, 1);
  }

  receivers(): Iterable<MemberLoad> {
    return this.#countByReceiver.keys();
  }

  previouslyOwnedBy(receiver: MemberLoad): AssignablePartition | undefined {
    for (const assigned of this.partitions)
      if (assigned.previousOwner === receiver.memberId) return assigned;
    return undefined;
  }

  firstFor(receiver: MemberLoad): AssignablePartition | undefined {
    if (!this.#countByReceiver.has(receiver)) return undefined;
    for (const assigned of this.partitions)
      if (assigned.eligible.members.has(receiver)) return assigned;
    return undefined;
  }

  remove(assigned: AssignablePartition): void {
    this.partitions.delete(assigned);
    if (addToCount(this.#countByEligible, assigned.eligible, -1) > 0) return;
    for (const member of assigned.eligible.members) addToCount(this.#countByReceiver, member, -1);
  }
}

/** Counts, and forgets what has come to zero. */
function addToCount<Key>(counts: Map<Key, number>, key: Key, by: 1 | -1): number {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
  return count;
}
