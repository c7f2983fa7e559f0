/**
 * Time after which the leader is asked again: it may know a nearer replica, or that this one is
 * gone.
 */
const USE_MS = 300_000;
/**
 * Time for which the leader is not told the rack: until it notices that a replica is gone, it would
 * name the same one again.
 */
const AVOID_MS = 30_000;

/**
 * The replica near this consumer to which the leader of a partition has redirected it (KIP-392).
 */
export class PreferredReplica {
  #node = -1;
  #until = 0;
  #avoidedUntil = 0;

  /** Returns the replica, or undefined if the leader itself is to be asked. */
  current(now: number): number | undefined {
    return this.#node >= 0 && now < this.#until ? this.#node : undefined;
  }

  /** Returns whether the leader may redirect to a replica. */
  isAllowed(now: number): boolean {
    return now >= this.#avoidedUntil;
  }

  use(node: number, now: number): void {
    this.#node = node;
    this.#until = now + USE_MS;
  }

  /** Returns to the leader, because the partition has a new one. */
  clear(): void {
    this.#node = -1;
  }

  /** Returns to the leader for a while, because the replica does not answer or refuses. */
  avoid(now: number): void {
    if (this.#node >= 0) this.#avoidedUntil = now + AVOID_MS;
    this.#node = -1;
  }
}
