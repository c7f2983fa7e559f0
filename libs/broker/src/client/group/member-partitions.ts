import type { TopicPartition } from '../../port/record.js';
import { partitionKey } from '../../port/topic-partition.js';

interface MemberPartition {
  readonly partition: TopicPartition;
  /** The first generation in which the partition was owned without interruption. */
  readonly since: number;
}

/**
 * The partitions that this member owns. A cooperative member keeps them when a new generation
 * begins.
 */
export class MemberPartitions {
  readonly #byKey = new Map<string, MemberPartition>();

  get size(): number {
    return this.#byKey.size;
  }

  get partitions(): readonly TopicPartition[] {
    return [...this.#byKey.values()].map(({ partition }) => partition);
  }

  /** Returns whether the partition has been owned without interruption since that generation. */
  ownedSince(partition: TopicPartition, generation: number): boolean {
    const owned = this.#byKey.get(partitionKey(partition));
    return owned !== undefined && owned.since <= generation;
  }

  /** Returns the difference between the owned partitions and a new assignment. */
  compare(assigned: readonly TopicPartition[]): {
    readonly added: readonly TopicPartition[];
    readonly removed: readonly TopicPartition[];
  } {
    const names = new Set(assigned.map(partitionKey));
    return {
      added: assigned.filter((partition) => !this.#byKey.has(partitionKey(partition))),
      removed: this.partitions.filter((partition) => !names.has(partitionKey(partition))),
    };
  }

  add(partitions: readonly TopicPartition[], generation: number): void {
    for (const partition of partitions)
      this.#byKey.set(partitionKey(partition), { partition, since: generation });
  }

  remove(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#byKey.delete(partitionKey(partition));
  }

  /** Removes all partitions and returns them. */
  clear(): readonly TopicPartition[] {
    const { partitions } = this;
    this.#byKey.clear();
    return partitions;
  }
}
