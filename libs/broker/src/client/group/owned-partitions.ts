import type { TopicPartition } from '../../port/record.js';
import { keyOf } from './classic/generation.js';

interface Held {
  readonly partition: TopicPartition;
  /** Since which generation it has been ours without a break. */
  readonly since: number;
}

/** The partitions that are ours. In a cooperative group they stay so from one generation to the next. */
export class Holding {
  readonly #held = new Map<string, Held>();

  get size(): number {
    return this.#held.size;
  }

  get partitions(): readonly TopicPartition[] {
    return [...this.#held.values()].map(({ partition }) => partition);
  }

  /** Whether it is ours, and was in that generation already. */
  hasSince(partition: TopicPartition, generation: number): boolean {
    const held = this.#held.get(keyOf(partition));
    return held !== undefined && held.since <= generation;
  }

  /** What an assignment changes. */
  compare(assigned: readonly TopicPartition[]): {
    readonly added: readonly TopicPartition[];
    readonly gone: readonly TopicPartition[];
  } {
    const names = new Set(assigned.map(keyOf));
    return {
      added: assigned.filter((partition) => !this.#held.has(keyOf(partition))),
      gone: this.partitions.filter((partition) => !names.has(keyOf(partition))),
    };
  }

  add(partitions: readonly TopicPartition[], generation: number): void {
    for (const partition of partitions)
      this.#held.set(keyOf(partition), { partition, since: generation });
  }

  drop(partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) this.#held.delete(keyOf(partition));
  }

  /** Gives what was ours. */
  clear(): readonly TopicPartition[] {
    const { partitions } = this;
    this.#held.clear();
    return partitions;
  }
}
