/** Less than this and a session could not even hold a modest batch. */
const MIN_SHARE_BYTES = 256 * 1024;

/**
 * Bytes that fetch answers may hold before their records are handed out, divided evenly among
 * the sessions that take part. It counts whole answers: one unread record pins all of its answer.
 */
export class PrefetchBudget {
  readonly #shares = new Set<BudgetShare>();

  constructor(readonly totalBytes: number) {}

  join(): BudgetShare {
    const share = new BudgetShare(
      () => Math.max(MIN_SHARE_BYTES, Math.floor(this.totalBytes / this.#shares.size)),
      () => this.#shares.delete(share),
    );
    this.#shares.add(share);
    return share;
  }

  /** What all sessions hold and have asked for at this moment. */
  get usedBytes(): number {
    return [...this.#shares].reduce((sum, share) => sum + share.usedBytes, 0);
  }
}

/** What one session holds (answers) or has asked for (requests under way). */
export class BudgetShare {
  usedBytes = 0;

  constructor(
    private readonly limit: () => number,
    private readonly leave: () => void,
  ) {}

  get limitBytes(): number {
    return this.limit();
  }

  has(bytes: number): boolean {
    return this.usedBytes + bytes <= this.limitBytes;
  }

  take(bytes: number): void {
    this.usedBytes += bytes;
  }

  giveBack(bytes: number): void {
    this.usedBytes -= bytes;
  }

  close(): void {
    this.leave();
  }
}

/**
 * The one budget of the process: every driver that is not given another shares it. It is module
 * state on purpose, for memory is the process's and not a driver's.
 */
export const processBudget = new PrefetchBudget(64 * 1024 * 1024);
