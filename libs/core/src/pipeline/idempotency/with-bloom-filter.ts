import { realRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';
import { BloomFilter, type BloomFilterOptions } from './bloom-filter.js';

/** A store that can list every key that is done, such as that of `sqlIdempotencyStore`. */
export interface ListedIdempotencyStore extends IdempotencyStore {
  completedKeys(): AsyncIterable<string>;
}

export interface WithBloomFilterOptions extends Partial<BloomFilterOptions> {
  /** The number of marks in the store, plus those that the process will add. */
  readonly expected: number;
  /** Default 0.01. */
  readonly falsePositiveRate?: number;
  /** Confirms that no other process marks records in this store while this one runs. */
  readonly onlyThisProcess: true;
  /** Replaced in tests. */
  readonly runtime?: Runtime;
}

const MAX_EXPECTED = 100_000_000;

interface LocalClaim {
  readonly owner: string;
  /** A time of the monotonic clock. */
  readonly until: number;
}

/**
 * Skips the claim in the store if a record is certainly new. The filter never decides that a record
 * is done: if it knows the key, the store is asked.
 *
 * A key that is not in the filter is new only if the filter has seen every mark. The filter
 * therefore reads all marks of the store before the first answer. It is only correct for a store
 * that one process uses alone, such as a SQLite file or the table of a service with a single
 * instance. A filter cannot know the marks of another process. When a partition changes its owner,
 * the new owner gets records that the former one has handled and not committed, and would take them
 * for new. If `onlyThisProcess` is not true, records may be handled twice. No record is ever
 * skipped.
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
  /** Claims that were granted without the store. */
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

  /**
   * Keeps the claim and adds the key to the filter until the store has the mark, so that the record
   * never looks new in between.
   */
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
