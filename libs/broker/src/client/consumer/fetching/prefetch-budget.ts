/** The smallest share of a session. A smaller one could not hold one batch of ordinary size. */
const MIN_SHARE_BYTES = 256 * 1024;

/**
 * The bytes that fetch responses may hold before their records are delivered. The budget is divided
 * evenly among the sessions. Whole responses are counted, because one unread record keeps its whole
 * response in memory.
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

  /** The bytes that all sessions hold or have requested. */
  get usedBytes(): number {
    return [...this.#shares].reduce((sum, share) => sum + share.usedBytes, 0);
  }
}

/**
 * The part of the budget that one session uses: for responses that it holds and for requests under
 * way.
 */
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
 * The budget of the process, which all drivers without a budget of their own share. This
 * module-level state is intended: memory belongs to the process, not to a driver.
 */
export const processBudget = new PrefetchBudget(64 * 1024 * 1024);
