import { Deferred } from '../../../runtime/index.js';
import { zero, LifecycleTest } from './partition-lifecycle.spec-support.js';

describe('PartitionLifecycle, with a start position from the reset policy', () => {
  const committedStarts = { ...zero, offset: 5, leaderEpoch: 7 };

  it.each([
    [{ policy: 'latest', reason: 'no-offset' }, [committedStarts]],
    [{ policy: 'earliest', reason: 'new-partition' }, [committedStarts]],
    // With `earliest` the start offset needs no commit, because a later lookup finds the same
    // offset or the first existing one.
    [{ policy: 'earliest', reason: 'no-offset' }, []],
    [undefined, []],
  ] as const)(
    'commits the start position only if a later lookup could skip records: %j',
    async (reset, starts) => {
      const test = new LifecycleTest();
      test.reset = reset;
      await test.lifecycle.onAssigned([zero]);
      expect(test.committedStarts).toEqual(starts);
    },
  );

  it('commits the offset to which the listener seeks in onAssigned', async () => {
    const test = new LifecycleTest();
    test.reset = { policy: 'latest', reason: 'no-offset' };
    Object.defineProperty(test.gates, 'assigned 0', {
      get: () => test.ownedPartitions.get(zero)?.moveTo(2),
    });
    await test.lifecycle.onAssigned([zero]);
    expect(test.committedStarts).toMatchObject([{ offset: 2 }]);
  });

  it('does not overwrite the offset that the listener has committed in onAssigned', async () => {
    const test = new LifecycleTest();
    test.reset = { policy: 'latest', reason: 'no-offset' };
    const start = new Deferred<number>();
    test.startOf = () => start.promise;
    const assigned = test.lifecycle.onAssigned([zero]);
    const owned = test.ownedPartitions.get(zero);
    if (owned) owned.commitCount++;
    start.resolve(5);
    await assigned;
    expect(test.committedStarts).toEqual([]);
  });
});

describe('PartitionLifecycle, while a start offset is being committed', () => {
  it('delivers the first record only after that commit, which could otherwise overwrite a later one', async () => {
    const test = new LifecycleTest();
    test.reset = { policy: 'latest', reason: 'no-offset' };
    const whenCommitted = new Deferred();
    test.whenCommitted = whenCommitted.promise;
    await test.lifecycle.onAssigned([zero]);
    await test.runtime.settle();
    expect([test.calls, test.ownedPartitions.get(zero)?.deliverable]).toEqual([
      ['assigned 0', 'assigned 0 done'],
      false,
    ]);
    whenCommitted.resolve();
    await test.runtime.settle();
    expect(test.ownedPartitions.get(zero)?.deliverable).toBe(true);
  });

  it('delivers nothing if the partition is lost before the commit ends', async () => {
    const test = new LifecycleTest();
    test.reset = { policy: 'latest', reason: 'no-offset' };
    const whenCommitted = new Deferred();
    test.whenCommitted = whenCommitted.promise;
    await test.lifecycle.onAssigned([zero]);
    const owned = test.ownedPartitions.get(zero);
    await test.lifecycle.onLost([zero]);
    whenCommitted.resolve();
    await test.runtime.settle();
    expect(owned?.deliverable).toBe(false);
  });
});

describe('PartitionLifecycle, with a revocation right after the assignment', () => {
  const latest = (rebalanceTimeoutMs?: number): LifecycleTest => {
    const scene = new LifecycleTest(rebalanceTimeoutMs);
    scene.reset = { policy: 'latest', reason: 'no-offset' };
    return scene;
  };

  it('waits for the commit of the start position before it releases the partition', async () => {
    const scene = latest();
    const whenCommitted = new Deferred();
    scene.whenCommitted = whenCommitted.promise;
    await scene.lifecycle.onAssigned([zero]);
    const revoked = scene.lifecycle.onRevoked([zero]);
    await scene.runtime.settle();
    expect(scene.calls.at(-1)).toBe('revoked 0 done');
    expect(scene.ownedPartitions.list()).toEqual([zero]);
    whenCommitted.resolve();
    await revoked;
    expect(scene.ownedPartitions.list()).toEqual([]);
    expect(scene.runtime.pendingTimers).toBe(0);
  });

  it.each([
    ['takes more than half of the rebalance timeout', 6_000, 3_000],
    ['takes more than 5 s of a long rebalance timeout', 300_000, 5_000],
  ])(
    'stops waiting for the commit of the start position if it %s',
    async (_, rebalanceTimeoutMs, waitMs) => {
      const scene = latest(rebalanceTimeoutMs);
      scene.whenCommitted = new Deferred().promise;
      await scene.lifecycle.onAssigned([zero]);
      const revoked = scene.lifecycle.onRevoked([zero]);
      await scene.runtime.advance(waitMs - 1);
      expect(scene.ownedPartitions.list()).toEqual([zero]);
      await scene.runtime.advance(1);
      await revoked;
      expect(scene.ownedPartitions.list()).toEqual([]);
    },
  );

  it('commits the start position if the revocation arrives while onAssigned still runs', async () => {
    const scene = latest();
    const loading = new Deferred();
    scene.gates['assigned 0'] = loading.promise;
    const assigned = scene.lifecycle.onAssigned([zero]);
    await scene.runtime.settle();
    const revoked = scene.lifecycle.onRevoked([zero]);
    loading.resolve();
    await Promise.all([assigned, revoked]);
    expect(scene.committedStarts).toEqual([{ ...zero, offset: 5, leaderEpoch: 7 }]);
  });

  it('does not commit the start position of a lost partition', async () => {
    const scene = latest();
    const loading = new Deferred();
    scene.gates['assigned 0'] = loading.promise;
    const assigned = scene.lifecycle.onAssigned([zero]);
    await scene.runtime.settle();
    await scene.lifecycle.onLost([zero]);
    loading.resolve();
    await assigned;
    expect(scene.committedStarts).toEqual([]);
  });
});
