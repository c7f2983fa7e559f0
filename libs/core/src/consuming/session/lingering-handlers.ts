import type { LaneDelivery } from '../lanes/lane-delivery.js';

/** The part of a session that the other sessions of its container use. */
export interface HandlerOwner {
  /** Running handlers of a partition that this session owns. */
  runningOn(partition: string): readonly LaneDelivery[];
}

/**
 * Handlers that the next owner of a partition has to wait for, so that records stay in order.
 * Either the handler's assignment has ended, or its session has lost the partition and does not
 * know it yet. The order also holds if the binding is stopped and started, or destroyed and
 * registered again.
 */
export class LingeringHandlers {
  readonly #sessions = new Set<HandlerOwner>();

  /** `scope` names the owner of the partitions, such as a group. */
  constructor(
    private readonly scope = '',
    private readonly byPartition = new Map<string, Set<LaneDelivery>>(),
  ) {}

  /** Returns the handlers of another scope in the same process. */
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
   * omitted while it owns the partition.
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
