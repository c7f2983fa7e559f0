import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';

export interface StoreWorld {
  readonly store: IdempotencyStore;
  /** By which this side measures durations. */
  readonly monotonic: () => number;
  /** Lets this time go by for the store. */
  readonly elapse: (milliseconds: number) => Promise<void>;
  readonly end?: () => Promise<void>;
}

const LEASE_MS = 1_000;
const LONG_MS = 60_000;

/** What the bus relies on. Every store passes it, on its real database. */
export function describeIdempotencyStore(name: string, begin: () => Promise<StoreWorld>): void {
  describe(name, () => {
    let world: StoreWorld;
    let store: IdempotencyStore;
    let keys = 0;
    let key: string;

    beforeAll(async () => {
      world = await begin();
      ({ store } = world);
    });
    beforeEach(() => (key = `default/shop/orders/orders-0-${++keys}@1700000000000`));
    afterAll(() => world.end?.());

    const claim = async (owner: string, leaseMs = LONG_MS, of = key): Promise<ClaimAnswer> =>
      store.claim(of, owner, leaseMs);

    /** When a claim was granted. */
    const untilGranted = async (owner: string): Promise<number> => {
      for (let tries = 0; tries < LEASE_MS; tries++) {
        if ((await claim(owner, LONG_MS)) === 'new') return world.monotonic();
        await world.elapse(20);
      }
      throw new Error('It was never granted.');
    };

    /** By the clock of the store, which need not have quite the pace of ours. */
    const expectLeaseSince = (began: number, ended: number): void =>
      expect(ended - began).toBeGreaterThan(0.9 * LEASE_MS);

    it('a key that nobody has is new, for one', async () => {
      expect(await claim('a')).toBe('new');
      expect(await claim('b')).toBe('in-progress');
    });

    it('who asks again for what he has gets the same answer: he may not have heard it', async () => {
      expect(await claim('a')).toBe('new');
      expect(await claim('a')).toBe('new');
      expect(await claim('b')).toBe('in-progress');
    });

    it('of a hundred that claim it at the same time one gets it', async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => claim(`owner-${index}`)),
      );
      expect(answers.filter((answer) => answer === 'new')).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'in-progress')).toHaveLength(99);
    });

    it('of a hundred keys that four claim at the same time each gets one owner', async () => {
      const answers = await Promise.all(
        Array.from({ length: 400 }, (_, index) =>
          claim(`owner-${index}`, LONG_MS, `${key}-${index % 100}`),
        ),
      );
      expect(answers.filter((answer) => answer === 'new')).toHaveLength(100);
    });

    it('what is completed is done, for all who ask', async () => {
      await claim('a');
      await store.complete(key, LONG_MS);
      expect(await claim('b')).toBe('done');
      expect(await claim('a')).toBe('done');
    });

    it('what is completed twice, or was never claimed, is done', async () => {
      await store.complete(key, LONG_MS);
      await store.complete(key, LONG_MS);
      expect(await claim('a')).toBe('done');
    });

    it('what is released is new again', async () => {
      await claim('a');
      await store.release(key, 'a');
      expect(await claim('b')).toBe('new');
    });

    it('only the owner can release it', async () => {
      await claim('a');
      await store.release(key, 'b');
      expect(await claim('b')).toBe('in-progress');
    });

    it('nobody can release what is done, or what is not there', async () => {
      await claim('a');
      await store.complete(key, LONG_MS);
      await store.release(key, 'a');
      expect(await claim('b')).toBe('done');
      await store.release('nobody/has/it', 'a');
    });

    it('a lease that nobody ends ends by itself, and not before', async () => {
      const began = world.monotonic();
      await claim('a', LEASE_MS);
      expectLeaseSince(began, await untilGranted('b'));
      expect(await claim('c')).toBe('in-progress');
    });

    it('who has lost his lease to another takes nothing away from him', async () => {
      await claim('a', 1);
      await untilGranted('b');
      await store.release(key, 'a');
      expect(await claim('c')).toBe('in-progress');
    });

    it('who has lost his lease and is done all the same has done it', async () => {
      await claim('a', 1);
      await untilGranted('b');
      await store.complete(key, LONG_MS);
      await store.release(key, 'b');
      expect(await claim('c')).toBe('done');
    });

    it('what is done is forgotten after its time, and not before', async () => {
      const began = world.monotonic();
      await store.complete(key, LEASE_MS);
      expectLeaseSince(began, await untilGranted('b'));
    });

    it('a fraction of a millisecond is a time', async () => {
      expect(await claim('a', 1_000.5)).toBe('new');
      await store.complete(key, 60_000.5);
      expect(await claim('b')).toBe('done');
    });

    it('keys that differ in no more than the case, a blank at the end or a wildcard are not the same', async () => {
      const others = [key, key.toUpperCase(), `${key} `, `${key}%`, `${key}_`, `'"\\;--`];
      for (const [index, other] of others.entries())
        expect(await claim(`owner-${index}`, LONG_MS, other)).toBe('new');
      for (const other of others)
        expect(await claim('another', LONG_MS, other)).toBe('in-progress');
    });

    it('a key may have 512 characters and an owner 64', async () => {
      const long = 'k'.repeat(511);
      expect(await claim('o'.repeat(64), LONG_MS, `${long}1`)).toBe('new');
      expect(await claim('p'.repeat(64), LONG_MS, `${long}2`)).toBe('new');
      expect(await claim('p'.repeat(64), LONG_MS, `${long}1`)).toBe('in-progress');
    });
  });
}
