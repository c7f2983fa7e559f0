/** A leader that is asked again after that may know a nearer one, or that this one has gone. */
const USE_MS = 300_000;
/** A leader goes on to name a replica that is gone until it notices: so long it is not told where we are. */
const AVOID_MS = 30_000;

/** The replica that a partition's leader has sent us to because it is near us (KIP-392). */
export class PreferredReplica {
  #node = -1;
  #until = 0;
  #avoidedUntil = 0;

  /** undefined while the leader itself is to be asked. */
  current(now: number): number | undefined {
    return this.#node >= 0 && now < this.#until ? this.#node : undefined;
  }

  /** Whether the leader may send us away. */
  isAllowed(now: number): boolean {
    return now >= this.#avoidedUntil;
  }

  use(node: number, now: number): void {
    this.#node = node;
    this.#until = now + USE_MS;
  }

  /** Back to the leader: there is a new one. */
  clear(): void {
    this.#node = -1;
  }

  /** Back to the leader, and for a while: this one is of no use. */
  avoid(now: number): void {
    if (this.#node >= 0) this.#avoidedUntil = now + AVOID_MS;
    this.#node = -1;
  }
}
