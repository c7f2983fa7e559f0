import type { LaneDelivery } from './lane-delivery.js';

/**
 * Handlers that outlived the assignment of their partition. The sessions of a container share them,
 * and the next ones after a stop and a start: order lasts over both.
 */
export class LingeringHandlers {
  readonly #byPartition = new Map<string, Set<LaneDelivery>>();

  add(partition: string, deliveries: readonly LaneDelivery[]): void {
    for (const delivery of deliveries) this.#add(partition, delivery);
  }

  of(partition: string): readonly LaneDelivery[] {
    return [...(this.#byPartition.get(partition) ?? [])];
  }

  #add(partition: string, delivery: LaneDelivery): void {
    let handlers = this.#byPartition.get(partition);
    if (!handlers) this.#byPartition.set(partition, (handlers = new Set()));
    handlers.add(delivery);
    void delivery.whenEnded().then(() => this.#remove(partition, delivery));
  }

  #remove(partition: string, delivery: LaneDelivery): void {
    const handlers = this.#byPartition.get(partition);
    handlers?.delete(delivery);
    if (handlers?.size === 0) this.#byPartition.delete(partition);
  }
}
