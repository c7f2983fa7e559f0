import type { Runtime } from '@nest-event-bus/broker/runtime';

/** Beyond it the oldest is forgotten. */
const MOST = 10_000;

/**
 * Keys of records whose handler has succeeded, though no mark says so: they must not be handed to it
 * again. Remembered no longer than a mark that was written in its place, for the record may have
 * been committed elsewhere, and its key may be that of a new one some day.
 */
export class UnmarkedRecords {
  /** Until when, by the monotonic clock; what was remembered first ends first. */
  readonly #ends = new Map<string, number>();

  constructor(
    private readonly ttlMs: number,
    private readonly runtime: Pick<Runtime, 'monotonic'>,
  ) {}

  get size(): number {
    return this.#ends.size;
  }

  has(key: string): boolean {
    const end = this.#ends.get(key);
    return end !== undefined && this.runtime.monotonic() < end;
  }

  /** Whoever comes again while the store is still down is remembered from now on. */
  add(key: string): void {
    const now = this.runtime.monotonic();
    this.#ends.delete(key);
    this.#ends.set(key, now + this.ttlMs);
    for (const [oldest, end] of this.#ends) {
      if (this.#ends.size <= MOST && now < end) return;
      this.#ends.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#ends.delete(key);
  }
}
