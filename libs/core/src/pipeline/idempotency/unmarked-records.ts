import type { Runtime } from '@nest-event-bus/broker/runtime';

/** Beyond it the oldest is forgotten. */
const MAX_KEYS = 10_000;

/**
 * Keys of records whose handler has succeeded, though no mark says so: they must not be handed to it
 * again. Remembered no longer than a mark that was written in its place, for the record may have
 * been committed elsewhere, and its key may be that of a new one some day.
 */
export class UnmarkedRecords {
  /** Until when, by the monotonic clock; what was remembered first ends first. */
  readonly #expiryTimes = new Map<string, number>();

  constructor(
    private readonly ttlMs: number,
    private readonly runtime: Pick<Runtime, 'monotonic'>,
  ) {}

  get size(): number {
    return this.#expiryTimes.size;
  }

  has(key: string): boolean {
    const end = this.#expiryTimes.get(key);
    return end !== undefined && this.runtime.monotonic() < end;
  }

  /** Whoever comes again while the store is still down is remembered from now on. */
  add(key: string): void {
    const now = this.runtime.monotonic();
    this.#expiryTimes.delete(key);
    this.#expiryTimes.set(key, now + this.ttlMs);
    for (const [oldest, end] of this.#expiryTimes) {
      if (this.#expiryTimes.size <= MAX_KEYS && now < end) return;
      this.#expiryTimes.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#expiryTimes.delete(key);
  }
}
