import type { TopicPartition } from '../../port/record.js';
import { partitionKey } from '../../port/topic-partition.js';

interface MemberPartition {
  readonly partition: TopicPartition;
  /** Since which generation it has been ours without a break. */
  readonly since: number;
}

/** The partitions that are ours. In a cooperative group they stay so from one generation to the next. */
export class MemberPartitions {
  readonly #byKey = new Map<string, MemberPartition>();

  get size(): number {
    return this.#byKey.size;
  }

  get partitions(): readonly TopicPartition[] {
    return [...this.#byKey.values()].map(({ partition }) => partition);
  }

  /** Whether it is ours, and was in that generation already. */
  ownedSince(partition: TopicPartition, generation: number): boolean {
    const owned = this.#byKey.get(partitionKey(partition));
    return owned !== undefined && owned.since <= generation;
  }

  /** What an assignment changes. */
  compare(assigned: readonly TopicPartition[]): {
    readonly added: readonly TopicPartition[];
    readonly gone: readonly TopicPartition[];
  } {
    const names = new Set(assigned.map(partitionKey));
    return {
      added: assigned.filter((partition) => !this.#byKey.has(partitionKey(partition))),
      gone: this.partitions.filter((partition) => !names.has(partitionKey(partition))),
    };
  }

  add(partitions: readonly TopicPartition[], generation: number): void {
    for (const partition of partitions)
      this.#byKey.set(partitionKey(partition), { partition, since: generation });
  }

  remove(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#byKey.delete(partitionKey(partition));
  }

  /** Gives what was ours. */
  clear(): readonly TopicPartition[] {
    const { partitions } = this;
    this.#byKey.clear();
    return partitions;
  }
}
