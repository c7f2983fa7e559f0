import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';

/** The part of an ioredis client that is used: a `Redis` or a `Cluster`. */
export interface RedisClient {
  set(key: string, value: string, px: 'PX', milliseconds: number): Promise<unknown>;
  set(key: string, value: string, px: 'PX', milliseconds: number, nx: 'NX'): Promise<unknown>;
  get(key: string): Promise<string | null>;
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Distinguishes ioredis from clients that read the arguments of `set` in another way. */
  defineCommand: unknown;
}

export interface RedisIdempotencyStoreOptions {
  /** The prefix of every key. Default `eventbus:idempotency:`. */
  readonly prefix?: string;
}

const DONE = 'done';
const CLAIMED = 'claimed:';

/**
 * Compares and deletes in one step, because an expired lease may already belong to another owner.
 */
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/**
 * Creates a store for all processes that use the Redis. The application owns the client, and closes
 * it. If Redis loses a key by eviction or in a failover, a record that is delivered again is
 * handled once more.
 */
export function redisIdempotencyStore(
  client: RedisClient,
  { prefix = 'eventbus:idempotency:' }: RedisIdempotencyStoreOptions = {},
): IdempotencyStore {
  // The client of the package `redis` ignores NX in this form, and would grant every claim.
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
      // The client repeats a command whose answer was lost with the connection.
      case CLAIMED + owner:
        return 'new';
      // If the key has expired in between, the next claim gets it.
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
