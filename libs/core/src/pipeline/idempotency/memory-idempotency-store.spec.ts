import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { memoryIdempotencyStore } from './memory-idempotency-store.js';
import { describeIdempotencyStore } from './store-contract.spec-support.js';

describeIdempotencyStore('The idempotency store in memory', async () => {
  const runtime = new VirtualRuntime();
  return {
    store: memoryIdempotencyStore({ runtime }),
    monotonic: () => runtime.monotonic(),
    elapse: (milliseconds) => runtime.advance(milliseconds),
  };
});

describe('The size of the idempotency store in memory', () => {
  const runtime = new VirtualRuntime();
  const withRoomFor = (maxEntries: number, done: readonly string[]) => {
    const store = memoryIdempotencyStore({ maxEntries, runtime });
    for (const key of done) store.complete(key, 60_000);
    return store;
  };

  it('is 100,000 keys by default, and the oldest are evicted beyond it', () => {
    const store = memoryIdempotencyStore({ runtime });
    for (let index = 0; index <= 100_000; index++) store.complete(`${index}`, 60_000);
    expect(store.claim('1', 'a', 1)).toBe('done');
    expect(store.claim('0', 'a', 1)).toBe('new');
  });

  it('evicts the least recently used key', () => {
    const store = withRoomFor(2, ['first', 'second']);
    expect(store.claim('first', 'a', 1)).toBe('done');
    store.complete('third', 60_000);
    expect(store.claim('first', 'a', 1)).toBe('done');
    expect(store.claim('second', 'a', 1)).toBe('new');
  });

  it('evicts marks before active claims', () => {
    const store = withRoomFor(3, []);
    store.claim('running', 'a', 60_000);
    for (const key of ['b', 'c', 'd', 'e']) store.complete(key, 60_000);
    expect(store.claim('running', 'z', 1)).toBe('in-progress');
  });

  it('evicts expired claims like marks', async () => {
    const store = withRoomFor(2, []);
    store.claim('abandoned', 'a', 1_000);
    store.complete('done', 60_000);
    await runtime.advance(1_000);
    store.complete('another', 60_000);
    expect(store.claim('done', 'z', 1)).toBe('done');
  });

  it('never exceeds its limit, even if all keys are claimed', () => {
    const store = withRoomFor(2, []);
    for (const key of ['a', 'b', 'c']) expect(store.claim(key, 'me', 60_000)).toBe('new');
    expect(store.claim('b', 'z', 60_000)).toBe('in-progress');
    expect(store.claim('a', 'z', 60_000)).toBe('new');
  });

  it.each([0, -1, 1.5, Number.NaN])('cannot be %p entries', (maxEntries) => {
    expect(() => memoryIdempotencyStore({ maxEntries })).toThrow(/whole number from 1 on/);
  });
});
