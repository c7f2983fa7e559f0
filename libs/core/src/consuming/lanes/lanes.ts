import type { TopicPartition } from '@nest-event-bus/broker';
import type { LaneDelivery } from './lane-delivery.js';
import type { BufferLimit } from './buffer-limit.js';
import type { LingeringHandlers, HandlerOwner } from '../session/lingering-handlers.js';
import type { PartitionLane } from './partition-lane.js';

/** Lanes of the owned partitions, and ended lanes whose handlers still run. */
export class Lanes implements Iterable<PartitionLane>, HandlerOwner {
  readonly #topics = new Map<string, (PartitionLane | undefined)[]>();
  readonly #all = new Set<PartitionLane>();
  readonly #lingering = new Set<PartitionLane>();
  readonly #leave: () => void;

  constructor(
    private readonly handlers: LingeringHandlers,
    private readonly bufferLimit: BufferLimit,
  ) {
    this.#leave = handlers.register(this);
  }

  /** Removes all lanes. Handlers that still run are remembered by the container. */
  close(): void {
    for (const lane of [...this.#all]) this.remove(lane);
    this.#leave();
  }

  [Symbol.iterator](): IterableIterator<PartitionLane> {
    return this.#all.values();
  }

  get(topic: string, partition: number): PartitionLane | undefined {
    return this.#topics.get(topic)?.[partition];
  }

  /** Returns the lanes of those partitions that are owned. */
  of(partitions: readonly TopicPartition[]): readonly PartitionLane[] {
    return partitions.flatMap(({ topic, partition }) => this.get(topic, partition) ?? []);
  }

  owns(lane: PartitionLane): boolean {
    return this.#all.has(lane);
  }

  add(lane: PartitionLane): void {
    const { topic, partition } = lane;
    let lanes = this.#topics.get(topic);
    if (!lanes) this.#topics.set(topic, (lanes = []));
    lanes[partition] = lane;
    this.#all.add(lane);
    this.bufferLimit.addLane();
  }

  /**
   * Removes a lane that has ended. If its handler still runs, records of the partition wait for it
   * in this process.
   */
  remove(lane: PartitionLane): void {
    const { topic, partition } = lane;
    if (this.get(topic, partition) === lane) delete this.#topics.get(topic)?.[partition];
    if (this.#all.delete(lane)) this.bufferLimit.removeLane();
    const { running } = lane;
    if (running.length === 0) return;
    this.handlers.add(lane.name, running);
    this.#lingering.add(lane);
    void lane.whenIdle().then(() => this.#lingering.delete(lane));
  }

  get bufferedBytes(): number {
    return [...this.#all, ...this.#lingering].reduce((sum, lane) => sum + lane.bufferedBytes, 0);
  }

  get lingering(): readonly PartitionLane[] {
    return [...this.#lingering];
  }

  /**
   * Returns handlers that still run for earlier assignments of this partition, in any session of
   * the container.
   */
  previousHandlersOf(partition: string): readonly LaneDelivery[] {
    return this.handlers.of(partition, this);
  }

  runningOn(partition: string): readonly LaneDelivery[] {
    return [...this.#all].flatMap((lane) => (lane.name === partition ? lane.running : []));
  }

  /** Running handlers of the owned partitions. */
  get current(): readonly LaneDelivery[] {
    return [...this.#all].flatMap((lane) => lane.running);
  }

  get running(): readonly LaneDelivery[] {
    return [...this.#all, ...this.#lingering].flatMap((lane) => lane.running);
  }
}
