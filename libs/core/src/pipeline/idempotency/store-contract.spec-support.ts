import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';

export interface StoreUnderTest {
  readonly store: IdempotencyStore;
  /** The clock of the test, for durations. */
  readonly monotonic: () => number;
  /** Waits until this time has passed for the store. */
  readonly elapse: (milliseconds: number) => Promise<void>;
  readonly end?: () => Promise<void>;
}

const LEASE_MS = 1_000;
const LONG_MS = 60_000;

/**
 * Describes the contract of an idempotency store. Every store passes it, with its real database.
 */
export function describeIdempotencyStore(name: string, begin: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let underTest: StoreUnderTest;
    let store: IdempotencyStore;
    let keys = 0;
    let key: string;

    beforeAll(async () => {
      underTest = await begin();
      ({ store } = underTest);
    });
    beforeEach(() => (key = `default/shop/orders/orders-0-${++keys}@1700000000000`));
    afterAll(() => underTest.end?.());

    const claim = async (owner: string, leaseMs = LONG_MS, of = key): Promise<ClaimAnswer> =>
      store.claim(of, owner, leaseMs);

    /** Returns the time at which a claim was granted. */
    const untilGranted = async (owner: string): Promise<number> => {
      for (let tries = 0; tries < LEASE_MS; tries++) {
        if ((await claim(owner, LONG_MS)) === 'new') return underTest.monotonic();
        await underTest.elapse(20);
      }
      throw new Error('It was never granted.');
    };

    /**
     * Expects the duration of a lease, with a tolerance, because the clock of the store may run
     * differently.
     */
    const expectLeaseSince = (began: number, ended: number): void =>
      expect(ended - began).toBeGreaterThan(0.9 * LEASE_MS);

    it('grants a free key to one owner', async () => {
      expect(await claim('a')).toBe('new');
      expect(await claim('b')).toBe('in-progress');
    });

    it('grants a key again to its owner, whose first answer may have been lost', async () => {
      expect(await claim('a')).toBe('new');
      expect(await claim('a')).toBe('new');
      expect(await claim('b')).toBe('in-progress');
    });

    it('grants a key to one of a hundred concurrent claims', async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => claim(`owner-${index}`)),
      );
      expect(answers.filter((answer) => answer === 'new')).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'in-progress')).toHaveLength(99);
    });

    it('grants each of a hundred keys to one of four concurrent owners', async () => {
      const answers = await Promise.all(
        Array.from({ length: 400 }, (_, index) =>
          claim(`owner-${index}`, LONG_MS, `${key}-${index % 100}`),
        ),
      );
      expect(answers.filter((answer) => answer === 'new')).toHaveLength(100);
    });

    it("answers 'done' to everybody after a key is completed", async () => {
      await claim('a');
      await store.complete(key, LONG_MS);
      expect(await claim('b')).toBe('done');
      expect(await claim('a')).toBe('done');
    });

    it('completes a key that is completed already, or was never claimed', async () => {
      await store.complete(key, LONG_MS);
      await store.complete(key, LONG_MS);
      expect(await claim('a')).toBe('done');
    });

    it('grants a released key again', async () => {
      await claim('a');
      await store.release(key, 'a');
      expect(await claim('b')).toBe('new');
    });

    it('releases a key only if its owner asks', async () => {
      await claim('a');
      await store.release(key, 'b');
      expect(await claim('b')).toBe('in-progress');
    });

    it('releases no key that is completed or unknown', async () => {
      await claim('a');
      await store.complete(key, LONG_MS);
      await store.release(key, 'a');
      expect(await claim('b')).toBe('done');
      await store.release('nobody/has/it', 'a');
    });

    it('ends a lease after its duration, and not before', async () => {
      const began = underTest.monotonic();
      await claim('a', LEASE_MS);
      expectLeaseSince(began, await untilGranted('b'));
      expect(await claim('c')).toBe('in-progress');
    });

    it('keeps the claim of a new owner when the former owner releases the key', async () => {
      await claim('a', 1);
      await untilGranted('b');
      await store.release(key, 'a');
      expect(await claim('c')).toBe('in-progress');
    });

    it('completes a key for an owner whose lease has ended', async () => {
      await claim('a', 1);
      await untilGranted('b');
      await store.complete(key, LONG_MS);
      await store.release(key, 'b');
      expect(await claim('c')).toBe('done');
    });

    it('forgets a mark after its duration, and not before', async () => {
      const began = underTest.monotonic();
      await store.complete(key, LEASE_MS);
      expectLeaseSince(began, await untilGranted('b'));
    });

    it('accepts durations with fractions of a millisecond', async () => {
      expect(await claim('a', 1_000.5)).toBe('new');
      await store.complete(key, 60_000.5);
      expect(await claim('b')).toBe('done');
    });

    it('distinguishes keys by case, trailing blanks and wildcards', async () => {
      const others = [key, key.toUpperCase(), `${key} `, `${key}%`, `${key}_`, `'"\\;--`];
      for (const [index, other] of others.entries())
        expect(await claim(`owner-${index}`, LONG_MS, other)).toBe('new');
      for (const other of others)
        expect(await claim('another', LONG_MS, other)).toBe('in-progress');
    });

    it('accepts keys of 512 characters and owners of 64', async () => {
      const long = 'k'.repeat(511);
      expect(await claim('o'.repeat(64), LONG_MS, `${long}1`)).toBe('new');
      expect(await claim('p'.repeat(64), LONG_MS, `${long}2`)).toBe('new');
      expect(await claim('p'.repeat(64), LONG_MS, `${long}1`)).toBe('in-progress');
    });
  });
}
