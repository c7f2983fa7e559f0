import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';

export interface MemoryIdempotencyStoreOptions {
  /**
   * The maximum number of keys. Beyond it the least recently used keys are evicted, claims last.
   * Default 100,000.
   */
  readonly maxEntries?: number;
  /** Replaced in tests. */
  readonly runtime?: Runtime;
}

interface Entry {
  /** undefined means that the record is done. */
  readonly owner?: string;
  /** A time of the monotonic clock. */
  readonly until: number;
}

/**
 * Creates a store for a single process. Its marks are lost with the process, so records may be
 * handled again after a crash.
 */
export function memoryIdempotencyStore(
  options: MemoryIdempotencyStoreOptions = {},
): IdempotencyStore {
  const { maxEntries = 100_000, runtime = realRuntime } = options;
  if (!Number.isInteger(maxEntries) || maxEntries < 1)
    throw new RangeError(
      `memoryIdempotencyStore({ maxEntries }) takes a whole number from 1 on, not ${maxEntries}.`,
    );
  return new MemoryIdempotencyStore(maxEntries, runtime);
}

class MemoryIdempotencyStore implements IdempotencyStore {
  /** The entries from the least to the most recently used. */
  readonly #entries = new Map<string, Entry>();

  constructor(
    private readonly maxEntries: number,
    private readonly runtime: Runtime,
  ) {}

  claim(key: string, owner: string, leaseMs: number): ClaimAnswer {
    const entry = this.#entries.get(key);
    if (!entry || entry.until <= this.runtime.monotonic()) {
      this.#put(key, { owner, until: this.runtime.monotonic() + leaseMs });
      return 'new';
    }
    this.#put(key, entry);
    if (entry.owner === undefined) return 'done';
    return entry.owner === owner ? 'new' : 'in-progress';
  }

  complete(key: string, ttlMs: number): void {
    this.#put(key, { until: this.runtime.monotonic() + ttlMs });
  }

  release(key: string, owner: string): void {
    if (this.#entries.get(key)?.owner === owner) this.#entries.delete(key);
  }

  #put(key: string, entry: Entry): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.maxEntries) this.#evictOne();
    this.#entries.set(key, entry);
  }

  /** Evicts active claims last. There are only as many of them as running handlers. */
  #evictOne(): void {
    const now = this.runtime.monotonic();
    let oldest: string | undefined;
    for (const [key, { owner, until }] of this.#entries) {
      oldest ??= key;
      if (owner !== undefined && until > now) continue;
      oldest = key;
      break;
    }
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
