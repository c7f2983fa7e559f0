import type { TopicPartition } from '../../../port/record.js';
import { partitionName } from '../../../port/topic-partition.js';
import type { OwnedPartition } from './owned-partition.js';

/**
 * The owned partitions, in the order in which they are served, and the pauses, which survive an
 * assignment.
 */
export class Ownership {
  readonly #owned = new Map<string, OwnedPartition>();
  readonly #pauses = new Set<string>();

  add(partitions: readonly OwnedPartition[]): void {
    for (const each of partitions) this.#owned.set(partitionName(each), each);
  }

  remove(partitions: readonly TopicPartition[]): void {
    for (const each of partitions) {
      this.get(each)?.release();
      this.#owned.delete(partitionName(each));
    }
  }

  get(partition: TopicPartition): OwnedPartition | undefined {
    return this.#owned.get(partitionName(partition));
  }

  all(): readonly OwnedPartition[] {
    return [...this.#owned.values()];
  }

  list(): readonly TopicPartition[] {
    return this.all().map(({ topic, partition }) => ({ topic, partition }));
  }

  pause(partitions: readonly TopicPartition[]): void {
    for (const each of partitions) this.#pauses.add(partitionName(each));
  }

  resume(partitions: readonly TopicPartition[]): void {
    for (const each of partitions) this.#pauses.delete(partitionName(each));
  }

  isPaused(partition: TopicPartition): boolean {
    return this.#pauses.has(partitionName(partition));
  }

  paused(): readonly TopicPartition[] {
    return this.list().filter((each) => this.isPaused(each));
  }

  /** Returns the partitions that need records and have none buffered. */
  wanted(): readonly OwnedPartition[] {
    return this.all().filter((each) => each.wantsRecords && !this.isPaused(each));
  }

  /** Returns the partitions with buffered records. */
  ready(): readonly OwnedPartition[] {
    return this.all().filter((each) => each.hasRecords && !this.isPaused(each));
  }

  /** Moves a served partition to the end, so that the others are next. */
  moveToEnd(partition: OwnedPartition): void {
    const name = partitionName(partition);
    if (this.#owned.get(name) !== partition) return;
    this.#owned.delete(name);
    this.#owned.set(name, partition);
  }
}
