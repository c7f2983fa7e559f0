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

interface ClaimStatements {
  /** Returns the first number of a pending event behind the given one. */
  first(after: number): Promise<number | null>;
  /** Leases events of the range. Returns their number. */
  lease(range: SequenceRange): Promise<number>;
}

/**
 * Limits how many events of held keys a claim reads before it finds a free one. It leases from the
 * first window that has free events, and starts there the next time. While no window has any, it
 * looks only at the first one for a while.
 *
 * A window may skip an event that has just become free, and lease a later one of its key. The read
 * of the lease gives such events back.
 */
export class ClaimScan {
  #after = 0;
  #rememberedUntil = 0;
  #restsUntil = 0;

  constructor(
    private readonly runtime: Pick<Runtime, 'monotonic'> = realRuntime,
    private readonly window = WINDOW,
  ) {}

  async run(statements: ClaimStatements): Promise<number> {
    if (this.runtime.monotonic() >= this.#rememberedUntil) this.#after = 0;
    if (this.#after > 0) {
      const leased = await this.#search(this.#after, statements);
      if (leased > 0) return leased;
      this.#after = 0;
    }
    return this.#search(0, statements);
  }

  async #search(start: number, { first, lease }: ClaimStatements): Promise<number> {
    const startedAt = this.runtime.monotonic();
    for (let after = start; ;) {
      const next = await first(after);
      if (next === null) break;
      const range = { after, until: next - 1 + this.window };
      const leased = await lease(range);
      if (leased > 0) {
        this.#remember(after);
        return leased;
      }
      if (start === 0 && startedAt < this.#restsUntil) return 0;
      after = range.until;
    }
    const now = this.runtime.monotonic();
    this.#restsUntil = now + REST_FACTOR * (now - startedAt);
    return 0;
  }

  #remember(after: number): void {
    if (this.#after === 0) this.#rememberedUntil = this.runtime.monotonic() + REMEMBERED_MS;
    this.#after = after;
  }
}
