import type { LaneDelivery } from '../lanes/lane-delivery.js';

/** A session, as far as others of its container need to know it. */
export interface HandlerOwner {
  /** Running handlers of a partition that this session owns. */
  runningOn(partition: string): readonly LaneDelivery[];
}

/**
 * Handlers that the next owner of a partition has to wait for, so that the order holds over an
 * assignment, over a stop and a start, and over a binding that is destroyed and registered again.
 * Either their own assignment has ended, or another session of the container does not know yet that
 * it lost the partition.
 */
export class LingeringHandlers {
  readonly #sessions = new Set<HandlerOwner>();

  /** `scope` names the owner of the partitions, such as a group. */
  constructor(
    private readonly scope = '',
    private readonly byPartition = new Map<string, Set<LaneDelivery>>(),
  ) {}

  /** Returns the view of another scope, in the same process. */
  within(scope: string): LingeringHandlers {
    return new LingeringHandlers(scope, this.byPartition);
  }

  /** Adds a session until the returned function is called. */
  register(session: HandlerOwner): () => void {
    this.#sessions.add(session);
    return () => void this.#sessions.delete(session);
  }

  add(partition: string, deliveries: readonly LaneDelivery[]): void {
    for (const delivery of deliveries) this.#add(this.#key(partition), delivery);
  }

  /**
   * Returns the handlers of other sessions on this partition. The handlers of `asking` itself are
   * left out while it owns the partition.
   */
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
