/**
 * The time after which the leader is asked again. The leader may know a nearer replica, or that
 * this one has left.
 */
const USE_MS = 300_000;
/**
 * The time for which requests to the leader contain no rack. Until the leader notices that the
 * replica is down, it would name the same replica again.
 */
const AVOID_MS = 30_000;

/** The replica near this consumer that the leader of a partition has named (KIP-392). */
export class PreferredReplica {
  #node = -1;
  #until = 0;
  #avoidedUntil = 0;

  /** Returns the replica, or undefined if the leader is to be used. */
  current(now: number): number | undefined {
    return this.#node >= 0 && now < this.#until ? this.#node : undefined;
  }

  /** Returns whether the leader may name a replica. */
  isAllowed(now: number): boolean {
    return now >= this.#avoidedUntil;
  }

  use(node: number, now: number): void {
    this.#node = node;
    this.#until = now + USE_MS;
  }

  /** Returns to the leader, because the partition has a new leader. */
  clear(): void {
    this.#node = -1;
  }

  /** Returns to the leader for some time, because the replica does not respond or refuses. */
  avoid(now: number): void {
    if (this.#node >= 0) this.#avoidedUntil = now + AVOID_MS;
    this.#node = -1;
  }
}
