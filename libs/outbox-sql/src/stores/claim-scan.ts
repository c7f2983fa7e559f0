import { realRuntime, type Runtime } from '@nest-event-bus/outbox';

/** A part of the sequence: behind the first number, and up to the second one. */
export interface SequenceRange {
  readonly after: number;
  readonly until: number;
}

/** The numbers that one statement reads. */
const WINDOW = 10_000;
/** Events that become free before the remembered place wait at most so long. */
const REMEMBERED_MS = 1_000;
/** A search through all windows that found nothing is followed by a rest of so many times its time. */
const REST_FACTOR = 10;
/** The longest rest. It is the default time between two polls. */
const MAX_REST_MS = 5_000;

interface ClaimStatements {
  /** Returns the first number of a pending event behind the given one. */
  first(after: number): Promise<number | null>;
  /** Leases events of the range. Returns their number. */
  lease(range: SequenceRange): Promise<number>;
}

interface SearchResult {
  readonly leased: number;
  /** The last window that was read. */
  readonly last: SequenceRange;
}

/**
 * Limits how many events of held keys a claim reads before it finds a free one. It leases from the
 * first window that has free events, and starts there the next time. While no window has any, it
 * looks only at the first one and at the last ones, where new events arrive, for a while.
 *
 * A window may skip an event that has just become free, and lease a later one of its key. The read
 * of the lease gives such events back.
 */
export class ClaimScan {
  #after = 0;
  #rememberedUntil = 0;
  /** New events have numbers behind this one. */
  #tail = 0;
  #restsUntil = 0;

  constructor(
    private readonly runtime: Pick<Runtime, 'monotonic'> = realRuntime,
    private readonly window = WINDOW,
  ) {}

  async run(statements: ClaimStatements): Promise<number> {
    if (this.runtime.monotonic() >= this.#rememberedUntil) this.#after = 0;
    if (this.#after > 0) {
      const { leased } = await this.#search(this.#after, statements);
      if (leased > 0) return leased;
      this.#after = 0;
    }
    return this.runtime.monotonic() < this.#restsUntil
      ? this.#searchEnds(statements)
      : this.#searchAll(statements);
  }

  async #searchAll(statements: ClaimStatements): Promise<number> {
    const startedAt = this.runtime.monotonic();
    const { leased, last } = await this.#search(0, statements);
    if (leased > 0) return leased;
    const now = this.runtime.monotonic();
    this.#restsUntil = now + Math.min(MAX_REST_MS, REST_FACTOR * (now - startedAt));
    // A transaction that is open during the search may commit a slightly smaller number.
    this.#tail = last.after - this.window / 10;
    return 0;
  }

  async #searchEnds(statements: ClaimStatements): Promise<number> {
    const { leased, last } = await this.#search(0, statements, 1);
    if (leased > 0) return leased;
    return (await this.#search(Math.max(this.#tail, last.until), statements)).leased;
  }

  async #search(
    start: number,
    { first, lease }: ClaimStatements,
    windows = Number.POSITIVE_INFINITY,
  ): Promise<SearchResult> {
    let last = { after: start, until: start };
    for (let read = 0; read < windows; read++) {
      const next = await first(last.until);
      if (next === null) break;
      last = { after: last.until, until: next - 1 + this.window };
      const leased = await lease(last);
      if (leased > 0) {
        this.#remember(last.after);
        return { leased, last };
      }
    }
    return { leased: 0, last };
  }

  #remember(after: number): void {
    if (this.#after === 0) this.#rememberedUntil = this.runtime.monotonic() + REMEMBERED_MS;
    this.#after = after;
  }
}
