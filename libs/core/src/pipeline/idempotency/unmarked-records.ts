import type { Runtime } from '@nest-event-bus/broker/runtime';

/** The maximum number of keys. Beyond it the oldest one is dropped. */
const MAX_KEYS = 10_000;

/**
 * Keys of records whose handler has succeeded, but whose mark could not be written. They must not
 * be handled again. A key is kept for the time that a mark would be kept. Later the record may be
 * committed by another process, and a new record may have the same key.
 */
export class UnmarkedRecords {
  /** The expiry time of each key, on the monotonic clock. The first entry expires first. */
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

  /** Adds a key. Extends its time if the record was redelivered while the store is still down. */
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
