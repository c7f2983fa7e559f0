import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';

export interface MemoryIdempotencyStoreOptions {
  /** Keys at most. Beyond it what was not asked for longest is forgotten, claims last. Default 100,000. */
  readonly maxEntries?: number;
  /** For tests. */
  readonly runtime?: Runtime;
}

interface Entry {
  /** undefined: it is done. */
  readonly owner?: string;
  /** By the monotonic clock. */
  readonly until: number;
}

/** For one process, and until it ends: what was done before a crash is done again after it. */
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
  /** What was used last comes last. */
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

  /** A claim that lasts goes last: there are no more of them than handlers that run. */
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
