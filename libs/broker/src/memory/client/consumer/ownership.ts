import type { TopicPartition } from '../../../port/record.js';
import { partitionName } from '../../../port/topic-partition.js';
import type { OwnedPartition } from './owned-partition.js';

/** What is ours now, in the order in which it is served, and the pauses, which outlive an assignment. */
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

  /** The partitions whose records are wanted and not at hand. */
  wanted(): readonly OwnedPartition[] {
    return this.all().filter((each) => each.wantsRecords && !this.isPaused(each));
  }

  /** The partitions that have records to hand out. */
  ready(): readonly OwnedPartition[] {
    return this.all().filter((each) => each.hasRecords && !this.isPaused(each));
  }

  /** Whoever was served goes to the end of the line. */
  moveToEnd(partition: OwnedPartition): void {
    const name = partitionName(partition);
    if (this.#owned.get(name) !== partition) return;
    this.#owned.delete(name);
    this.#owned.set(name, partition);
  }
}
