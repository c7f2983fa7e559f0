import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';
import { BloomFilter, type BloomFilterOptions } from './bloom-filter.js';

/** A store that can name every key that is done, such as that of `sqlIdempotencyStore`. */
export interface ListedIdempotencyStore extends IdempotencyStore {
  completedKeys(): AsyncIterable<string>;
}

export interface WithBloomFilterOptions extends Partial<BloomFilterOptions> {
  /** Marks that are there, and that come during the life of the process. */
  readonly expected: number;
  /** Default 0.01. */
  readonly falsePositiveRate?: number;
  /** You say that no other process marks records in this store while this one runs. */
  readonly onlyThisProcess: true;
  /** For tests. */
  readonly runtime?: Runtime;
}

const MAX_EXPECTED = 100_000_000;

interface LocalClaim {
  readonly owner: string;
  /** By the monotonic clock. */
  readonly until: number;
}

/**
 * Spares the store the claim of a record that is certainly new. It never says that a record is
 * done: whatever the filter may have seen, the store is asked.
 *
 * "Not in the filter" means "new" only if the filter has seen every mark there is. So it reads the
 * marks of the store before it answers anything, and it is for a store that one process uses
 * alone: a file of SQLite, the table of a service with a single instance. What another process
 * marked meanwhile it would take for new. With a store that is shared no filter in a process can
 * know: partitions change their owner, and with them come records that the former owner has done
 * and not committed. A promise that is not kept costs records that are handled twice, never a
 * record that is not handled.
 */
export async function withBloomFilter(
  store: ListedIdempotencyStore,
  options: WithBloomFilterOptions,
): Promise<IdempotencyStore> {
  const { expected, falsePositiveRate = 0.01, onlyThisProcess, runtime = realRuntime } = options;
  if (!(Number.isInteger(expected) && expected >= 1 && expected <= MAX_EXPECTED))
    throw new RangeError(
      `withBloomFilter({ expected }) takes a whole number from 1 to ${MAX_EXPECTED}, not ${expected}.`,
    );
  if (!(falsePositiveRate > 0 && falsePositiveRate < 1))
    throw new RangeError(
      `withBloomFilter({ falsePositiveRate }) takes a number between 0 and 1, not ${falsePositiveRate}.`,
    );
  if (!onlyThisProcess)
    throw new TypeError(
      'withBloomFilter is right only for a store that no other process marks records in. Say so with onlyThisProcess: true, or use the store without a filter.',
    );
  const filter = new BloomFilter({ expected, falsePositiveRate });
  for await (const key of store.completedKeys()) filter.add(key);
  return new FilteredIdempotencyStore(store, filter, runtime);
}

class FilteredIdempotencyStore implements IdempotencyStore {
  /** Claims that the store knows nothing of. */
  readonly #localClaims = new Map<string, LocalClaim>();

  constructor(
    private readonly store: IdempotencyStore,
    private readonly filter: BloomFilter,
    private readonly runtime: Runtime,
  ) {}

  claim(key: string, owner: string, leaseMs: number): ClaimAnswer | PromiseLike<ClaimAnswer> {
    const now = this.runtime.monotonic();
    const held = this.#localClaims.get(key);
    if (held && held.until > now) return held.owner === owner ? 'new' : 'in-progress';
    this.#localClaims.delete(key);
    if (this.filter.mayHave(key)) return this.store.claim(key, owner, leaseMs);
    this.#localClaims.set(key, { owner, until: now + leaseMs });
    return 'new';
  }

  /** Held and in the filter until the store has it: there is no moment in which it looks new. */
  async complete(key: string, ttlMs: number): Promise<void> {
    this.filter.add(key);
    await this.store.complete(key, ttlMs);
    this.#localClaims.delete(key);
  }

  release(key: string, owner: string): unknown {
    if (this.#localClaims.get(key)?.owner !== owner) return this.store.release(key, owner);
    this.#localClaims.delete(key);
    return undefined;
  }
}
