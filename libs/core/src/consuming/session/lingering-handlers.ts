import type { LaneDelivery } from '../lanes/lane-delivery.js';

/** A session, as far as others of its container have to know it. */
export interface HandlerOwner {
  /** Of a partition that is its own. */
  runningOn(partition: string): readonly LaneDelivery[];
}

/**
 * Handlers that whoever gets a partition next has to wait for: order lasts over assignments, over a
 * stop and a start, and over a binding that is destroyed and registered again. They outlived their
 * own assignment, or another session of the container has not heard yet that it lost the partition.
 */
export class LingeringHandlers {
  readonly #sessions = new Set<HandlerOwner>();

  /** `scope`: whose partitions these are, such as those of one group. */
  constructor(
    private readonly scope = '',
    private readonly byPartition = new Map<string, Set<LaneDelivery>>(),
  ) {}

  /** Of the same process, for another container. */
  within(scope: string): LingeringHandlers {
    return new LingeringHandlers(scope, this.byPartition);
  }

  /** Until it says that it has ended. */
  register(session: HandlerOwner): () => void {
    this.#sessions.add(session);
    return () => void this.#sessions.delete(session);
  }

  add(partition: string, deliveries: readonly LaneDelivery[]): void {
    for (const delivery of deliveries) this.#add(this.#key(partition), delivery);
  }

  /** Those of the one who asks are not among them, as far as the partition is still his. */
  of(partition: string, asking?: HandlerOwner): readonly LaneDelivery[] {
    const others = [...this.#sessions].filter((session) => session !== asking);
    return [
      ...(this.byPartition.get(this.#key(partition)) ?? []),
      ...others.flatMap((session) => session.runningOn(partition)),
    ];
  }

  #key(partition: string): string {
    return `${this.scope} ${partition}`;
  }

  #add(key: string, delivery: LaneDelivery): void {
    let handlers = this.byPartition.get(key);
    if (!handlers) this.byPartition.set(key, (handlers = new Set()));
    handlers.add(delivery);
    void delivery.whenEnded().then(() => this.#remove(key, delivery));
  }

  #remove(key: string, delivery: LaneDelivery): void {
    const handlers = this.byPartition.get(key);
    handlers?.delete(delivery);
    if (handlers?.size === 0) this.byPartition.delete(key);
  }
}
