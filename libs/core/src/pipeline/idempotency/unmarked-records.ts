import type { Runtime } from '@nest-event-bus/broker/runtime';

/** The maximum number of keys. Beyond it the oldest one is dropped. */
const MAX_KEYS = 10_000;

/**
 * Keys of records whose handler has succeeded, but whose mark could not be written. They must not
 * reach the handler again. A key is kept as long as a mark would be. After that the record may be
 * committed elsewhere, and a new record may have the same key.
 */
export class UnmarkedRecords {
  /** The expiry time of each key, by the monotonic clock. The first key expires first. */
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

  /** Adds a key, or extends it if the record was delivered again while the store is still down. */
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
