import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';

/** What of a client of ioredis is used: a `Redis` or a `Cluster`. */
export interface RedisClient {
  set(key: string, value: string, px: 'PX', milliseconds: number): Promise<unknown>;
  set(key: string, value: string, px: 'PX', milliseconds: number, nx: 'NX'): Promise<unknown>;
  get(key: string): Promise<string | null>;
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Only to tell it from clients that read the arguments of `set` in another way. */
  defineCommand: unknown;
}

export interface RedisIdempotencyStoreOptions {
  /** In front of every key. Default `eventbus:idempotency:`. */
  readonly prefix?: string;
}

const DONE = 'done';
const CLAIMED = 'claimed:';

/** Compares and deletes in one step: a lease that has ended may be another's by now. */
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/**
 * For all processes that use the Redis; the client stays yours, also to close. What that Redis
 * forgets by eviction or in a failover is handled once more when it comes again.
 */
export function redisIdempotencyStore(
  client: RedisClient,
  { prefix = 'eventbus:idempotency:' }: RedisIdempotencyStoreOptions = {},
): IdempotencyStore {
  // With the client of the package `redis`, NX would go unheard, and every claim would be granted.
  if (typeof client.defineCommand !== 'function')
    throw new TypeError(
      'redisIdempotencyStore takes a client of ioredis: npm i ioredis, then redisIdempotencyStore(new Redis(...)).',
    );
  return new RedisIdempotencyStore(client, prefix);
}

class RedisIdempotencyStore implements IdempotencyStore {
  constructor(
    private readonly client: RedisClient,
    private readonly prefix: string,
  ) {}

  async claim(key: string, owner: string, leaseMs: number): Promise<ClaimAnswer> {
    const name = this.prefix + key;
    const granted = await this.client.set(name, CLAIMED + owner, 'PX', Math.ceil(leaseMs), 'NX');
    if (granted !== null) return 'new';
    switch (await this.client.get(name)) {
      case DONE:
        return 'done';
      // The client repeats what a lost connection left unanswered.
      case CLAIMED + owner:
        return 'new';
      // Where it is gone in between, whoever asks again gets it.
      default:
        return 'in-progress';
    }
  }

  async complete(key: string, ttlMs: number): Promise<void> {
    await this.client.set(this.prefix + key, DONE, 'PX', Math.ceil(ttlMs));
  }

  async release(key: string, owner: string): Promise<void> {
    await this.client.eval(RELEASE, 1, this.prefix + key, CLAIMED + owner);
  }
}
