import type { TopicPartition } from '../../port/record.js';

/**
 * The members that may get a partition. Topics with the same subscribers share one object, so that
 * the work grows with the number of different subscriptions, not of topics.
 */
export interface EligibleMembers {
  readonly members: ReadonlySet<MemberLoad>;
}

/** A partition to be assigned. */
export interface AssignablePartition extends TopicPartition {
  readonly eligible: EligibleMembers;
  /** The id of the previous owner; null if no member has a claim. */
  readonly previousOwner: string | null;
  /** The index among all partitions, by topic and partition. */
  readonly order: number;
}

/**
 * A member and its partitions so far: those that it owned before (retained), and the others
 * (acquired).
 */
export class MemberLoad {
  readonly #retained = new PartitionSet();
  readonly #acquired = new PartitionSet();

  constructor(
    readonly memberId: string,
    readonly topics: readonly string[],
    /** The index among all members. */
    readonly order: number,
  ) {}

  get load(): number {
    return this.#retained.partitions.size + this.#acquired.partitions.size;
  }

  take(partition: AssignablePartition): void {
    this.#setFor(partition).add(partition);
  }

  /**
   * Returns the members that could get an acquired partition, which moves anyway, so that giving it
   * away costs nothing.
   */
  receiversOfAcquired(): Iterable<MemberLoad> {
    return this.#acquired.receivers();
  }

  receiversOfRetained(): Iterable<MemberLoad> {
    return this.#retained.receivers();
  }

  /**
   * Gives one partition to a receiver: preferably one that the receiver owned before, then an
   * acquired one, then a retained one.
   */
  giveTo(receiver: MemberLoad): void {
    const partition =
      this.#acquired.previouslyOwnedBy(receiver) ??
      this.#acquired.firstFor(receiver) ??
      this.#retained.firstFor(receiver);
    if (partition === undefined)
      throw new Error(`"${this.memberId}" has nothing that "${receiver.memberId}" may have.`);
    this.#setFor(partition).remove(partition);
    receiver.take(partition);
  }

  partitions(): TopicPartition[] {
    return [...this.#retained.partitions, ...this.#acquired.partitions]
      .sort((left, right) => left.order - right.order)
      .map(({ topic, partition }) => ({ topic, partition }));
  }

  #setFor(partition: AssignablePartition): PartitionSet {
    return partition.previousOwner === this.memberId ? this.#retained : this.#acquired;
  }
}

/** A set of partitions, and the members that could get one of them. */
class PartitionSet {
  readonly partitions = new Set<AssignablePartition>();
  readonly #countByEligible = new Map<EligibleMembers, number>();
  /** The number of groups of eligible members in this set, by member. */
  readonly #countByReceiver = new Map<MemberLoad, number>();

  add(partition: AssignablePartition): void {
    this.partitions.add(partition);
    if (addToCount(this.#countByEligible, partition.eligible, 1) > 1) return;
    for (const member of partition.eligible.members) addToCount(this.#countByReceiver, member, 1);
  }

  receivers(): Iterable<MemberLoad> {
    return this.#countByReceiver.keys();
  }

  previouslyOwnedBy(receiver: MemberLoad): AssignablePartition | undefined {
    for (const partition of this.partitions)
      if (partition.previousOwner === receiver.memberId) return partition;
    return undefined;
  }

  firstFor(receiver: MemberLoad): AssignablePartition | undefined {
    if (!this.#countByReceiver.has(receiver)) return undefined;
    for (const partition of this.partitions)
      if (partition.eligible.members.has(receiver)) return partition;
    return undefined;
  }

  remove(partition: AssignablePartition): void {
    this.partitions.delete(partition);
    if (addToCount(this.#countByEligible, partition.eligible, -1) > 0) return;
    for (const member of partition.eligible.members) addToCount(this.#countByReceiver, member, -1);
  }
}

/** Changes a count, and deletes the entry at zero. */
function addToCount<Key>(counts: Map<Key, number>, key: Key, by: 1 | -1): number {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
  return count;
}
