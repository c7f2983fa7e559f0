import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ClaimAnswer } from '../../model/extension-points/idempotency-store.js';
import { memoryIdempotencyStore } from './memory-idempotency-store.js';
import { describeIdempotencyStore } from './store-contract.spec-support.js';
import {
  withBloomFilter,
  type ListedIdempotencyStore,
  type WithBloomFilterOptions,
} from './with-bloom-filter.js';

let runtime: VirtualRuntime;

/** Records the calls of the store. */
class ListedStore implements ListedIdempotencyStore {
  readonly asked: string[] = [];
  isDown = false;
  losesAnswers = false;
  readonly #store = memoryIdempotencyStore({ runtime });

  constructor(private readonly done: readonly string[] = []) {
    for (const key of done) void this.#store.complete(key, 60_000);
  }

  async claim(key: string, owner: string, leaseMs: number): Promise<ClaimAnswer> {
    this.asked.push(`claim ${key}`);
    return this.#store.claim(key, owner, leaseMs);
  }

  async complete(key: string, ttlMs: number): Promise<void> {
    if (this.isDown) throw new Error('down');
    this.asked.push(`complete ${key}`);
    await this.#store.complete(key, ttlMs);
    if (this.losesAnswers) throw new Error('the answer was lost');
  }

  async release(key: string, owner: string): Promise<void> {
    this.asked.push(`release ${key}`);
    await this.#store.release(key, owner);
  }

  async *completedKeys(): AsyncGenerator<string> {
    yield* this.done;
  }
}

const filtered = (store: ListedIdempotencyStore, options: Partial<WithBloomFilterOptions> = {}) =>
  withBloomFilter(store, { expected: 1_000, onlyThisProcess: true, runtime, ...options });

beforeEach(() => (runtime = new VirtualRuntime()));

describeIdempotencyStore('An idempotency store behind a Bloom filter', async () => {
  runtime = new VirtualRuntime();
  const clock = runtime;
  return {
    store: await filtered(new ListedStore()),
    monotonic: () => clock.monotonic(),
    elapse: (milliseconds) => clock.advance(milliseconds),
  };
});

describe('withBloomFilter', () => {
  it('does not ask the store for a key that is certainly new', async () => {
    const store = new ListedStore();
    const filter = await filtered(store);
    expect(await filter.claim('a', 'me', 1_000)).toBe('new');
    await filter.complete('a', 60_000);
    expect(store.asked).toEqual(['complete a']);
  });

  it('never decides by itself that a record is done', async () => {
    const store = new ListedStore();
    // The filter is so small that every key looks known.
    const filter = await filtered(store, { expected: 1, falsePositiveRate: 0.9 });
    for (let index = 0; index < 100; index++) await filter.complete(`${index}`, 60_000);
    store.asked.length = 0;
    expect(await filter.claim('x', 'me', 1_000)).toBe('new');
    expect(store.asked).toEqual(['claim x']);
  });

  it('asks the store for a key that was marked before the process began', async () => {
    const store = new ListedStore(['old']);
    expect(await (await filtered(store)).claim('old', 'me', 1_000)).toBe('done');
    expect(store.asked).toEqual(['claim old']);
  });

  it('grants a key to one owner in the process, although the store does not know the claim', async () => {
    const filter = await filtered(new ListedStore());
    await filter.claim('a', 'me', 1_000);
    expect(await filter.claim('a', 'you', 1_000)).toBe('in-progress');
    await runtime.advance(1_000);
    expect(await filter.claim('a', 'you', 1_000)).toBe('new');
  });

  it('releases a claim that the store does not know without asking it', async () => {
    const store = new ListedStore();
    const filter = await filtered(store);
    await filter.claim('a', 'me', 1_000);
    await filter.release('a', 'me');
    expect(await filter.claim('a', 'you', 1_000)).toBe('new');
    expect(store.asked).toEqual([]);
  });

  it('does not treat a key as new while its mark is being written, or after that failed', async () => {
    const store = new ListedStore();
    const filter = await filtered(store);
    await filter.claim('a', 'me', 1_000);
    const marking = filter.complete('a', 60_000);
    expect(await filter.claim('a', 'you', 1_000)).toBe('in-progress');
    await marking;
    expect(await filter.claim('a', 'you', 1_000)).toBe('done');
    await filter.claim('b', 'me', 1_000);
    store.isDown = true;
    await expect(filter.complete('b', 60_000)).rejects.toThrow('down');
    expect(await filter.claim('b', 'you', 1_000)).toBe('in-progress');
  });

  it('asks the store for a key whose mark was written although the answer was lost', async () => {
    const store = new ListedStore();
    const filter = await filtered(store);
    await filter.claim('a', 'me', 1_000);
    store.losesAnswers = true;
    await expect(filter.complete('a', 60_000)).rejects.toThrow('lost');
    await runtime.advance(1_000);
    expect(await filter.claim('a', 'you', 1_000)).toBe('done');
  });

  it.each([
    [{ expected: 0 }, /expected/],
    [{ expected: 1e9 }, /expected/],
    [{ falsePositiveRate: 0 }, /falsePositiveRate/],
    [{ falsePositiveRate: 1 }, /falsePositiveRate/],
    [{ onlyThisProcess: undefined as unknown as true }, /no other process/],
  ])('refuses the options %j', async (options, message) => {
    await expect(filtered(new ListedStore(), options)).rejects.toThrow(message);
  });
});
