import { AuthorizationError, ConnectionError } from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import { zero, one, LifecycleTest } from './partition-lifecycle.spec-support.js';

const unreachable = (): never => {
  throw new ConnectionError('gone');
};

describe('PartitionLifecycle, with a leader that does not respond', () => {
  it('retries the lookup of the start position, with backoff, until the partition is revoked', async () => {
    const test = new LifecycleTest();
    const { lifecycle, runtime } = test;
    test.startOf = unreachable;
    const assigned = lifecycle.onAssigned([zero]);
    await runtime.advance(10_000);
    await assigned;
    expect(test.calls).toEqual(['assigned', 'assigned done']);
    const { lookups } = test;
    expect(lookups).toBeGreaterThan(3);
    await lifecycle.onRevoked([zero]);
    await runtime.advance(60_000);
    expect(test.lookups).toBe(lookups);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('gives up the lookup of the start position if no timer can be set, and keeps the error in the status', async () => {
    const test = new LifecycleTest();
    test.startOf = unreachable;
    const setTimer = test.runtime.setTimer.bind(test.runtime);
    let refused = 0;
    // After some failures the timers work again, so that a loop that never gives up fails this test
    // instead of hanging it.
    test.runtime.setTimer = (callback, delayMs) => {
      if (++refused <= 50) throw new TypeError('no timers here');
      return setTimer(callback, delayMs);
    };
    await test.lifecycle.onAssigned([zero]);
    await test.runtime.settle();
    expect(test.lookups).toBe(1);
    expect(test.status.status).toMatchObject({ state: 'retrying', error: { message: 'gone' } });
  });

  it('calls onAssigned for the other partitions after a short wait, and for the late one once its position is known', async () => {
    const test = new LifecycleTest();
    let isReachable = false;
    test.startOf = (partition) => (partition === 0 && !isReachable ? unreachable() : 5);
    const assigned = test.lifecycle.onAssigned([zero, one]);
    await test.runtime.advance(5_000);
    await assigned;
    expect(test.calls).toEqual(['assigned 1', 'assigned 1 done']);
    isReachable = true;
    await test.runtime.advance(10_000);
    expect(test.calls.slice(2)).toEqual(['assigned 0', 'assigned 0 done']);
  });

  it('reads a partition even if onAssigned throws for it, and reports the error in the status', async () => {
    const test = new LifecycleTest();
    const errors: string[] = [];
    test.status.subscribe((status) => 'error' in status && errors.push(status.error.message));
    let isReachable = false;
    test.startOf = (partition) => (partition === 0 && !isReachable ? unreachable() : 5);
    const loading = new Deferred();
    test.gates['assigned 0'] = loading.promise;
    const assigned = test.lifecycle.onAssigned([zero, one]);
    await test.runtime.advance(5_000);
    await assigned;
    isReachable = true;
    await test.runtime.advance(10_000);
    loading.reject(new Error('not loaded'));
    await test.runtime.settle();
    expect(errors).toEqual(['gone', 'not loaded']);
    expect(test.status.status.state).toBe('stable');
    expect(test.isDelivered(zero)).toBe(true);
  });
});

describe('PartitionLifecycle, with committed offsets that are refused', () => {
  const refused = (): Promise<never> => Promise.reject(new AuthorizationError('not granted'));

  it('shows the error, asks again for the offsets, and reads the partitions when it has the offsets', async () => {
    const test = new LifecycleTest();
    test.committed = refused;
    await expect(test.lifecycle.onAssigned([zero, one])).rejects.toBeInstanceOf(AuthorizationError);
    await test.runtime.advance(60_000);
    expect(test.calls).toEqual([]);
    expect(test.status.status).toMatchObject({ error: { message: 'not granted' } });
    test.committed = () => Promise.resolve([]);
    await test.runtime.advance(10_000);
    expect(test.calls).toEqual(['assigned 0 1', 'assigned 0 1 done']);
    expect([test.isDelivered(zero), test.isDelivered(one)]).toEqual([true, true]);
    expect(test.status.status.state).toBe('stable');
  });

  it('keeps the error in the status until the lookup succeeds, also while the member joins', async () => {
    const test = new LifecycleTest();
    test.status.setMembership({ state: 'joining', since: 0 });
    const found = new Deferred<[]>();
    test.committed = (_, onError) => {
      onError(new ConnectionError('no coordinator'));
      return found.promise;
    };
    const assigned = test.lifecycle.onAssigned([zero]);
    await test.runtime.settle();
    expect(test.status.status).toMatchObject({
      state: 'retrying',
      error: { message: 'no coordinator' },
    });
    found.resolve([]);
    await assigned;
    expect(test.status.status.state).toBe('joining');
  });

  it('stops the retries and clears the error once the partitions are revoked', async () => {
    const test = new LifecycleTest();
    test.committed = refused;
    await test.lifecycle.onAssigned([zero]).catch(() => undefined);
    await test.runtime.advance(1_000);
    await test.lifecycle.onRevoked([zero]);
    await test.runtime.advance(10_000);
    expect(test.status.status.state).toBe('stable');
    expect(test.runtime.pendingTimers).toBe(0);
  });
});

describe('PartitionLifecycle, with several partitions', () => {
  it('calls onRevoked only for partitions that were passed to onAssigned, and onAssigned for the remaining ones', async () => {
    const scene = new LifecycleTest();
    const start = new Deferred<number>();
    scene.startOf = () => start.promise;
    const assigned = scene.lifecycle.onAssigned([zero, one]);
    await scene.runtime.settle();
    await scene.lifecycle.onRevoked([zero]);
    start.resolve(5);
    await assigned;
    expect(scene.calls).toEqual(['assigned 1', 'assigned 1 done']);
    expect(scene.ownedPartitions.list()).toEqual([one]);
    expect(scene.isDelivered(one)).toBe(true);
  });

  it('ends the lookup of committed offsets only once all its partitions are revoked', async () => {
    const scene = new LifecycleTest();
    let signal: AbortSignal | undefined;
    scene.committed = (until) =>
      new Promise((_, reject) => {
        signal = until;
        until.addEventListener('abort', () => reject(until.reason as Error));
      });
    const assigned = scene.lifecycle.onAssigned([zero, one]);
    await scene.lifecycle.onRevoked([zero]);
    expect(signal?.aborted).toBe(false);
    await scene.lifecycle.onRevoked([one]);
    await assigned;
    expect(signal?.aborted).toBe(true);
    expect(scene.calls).toEqual([]);
    expect(scene.runtime.pendingTimers).toBe(0);
  });

  it('calls onRevoked only after onAssigned has ended', async () => {
    const scene = new LifecycleTest();
    const loading = new Deferred();
    scene.gates['assigned 0 1'] = loading.promise;
    const assigned = scene.lifecycle.onAssigned([zero, one]);
    await scene.runtime.settle();
    const revoked = scene.lifecycle.onRevoked([zero]);
    await scene.runtime.settle();
    expect(scene.calls).toEqual(['assigned 0 1']);
    expect(scene.ownedPartitions.list()).toHaveLength(2);
    loading.resolve();
    await Promise.all([assigned, revoked]);
    expect(scene.calls.slice(1)).toEqual(['assigned 0 1 done', 'revoked 0', 'revoked 0 done']);
    expect([scene.isDelivered(zero), scene.isDelivered(one)]).toEqual([false, true]);
  });

  it('delivers records of the remaining partitions while onRevoked runs for others', async () => {
    const scene = new LifecycleTest();
    await scene.lifecycle.onAssigned([zero, one]);
    scene.gates['revoked 0'] = new Deferred().promise;
    void scene.lifecycle.onRevoked([zero]);
    await scene.runtime.settle();
    expect([scene.isDelivered(zero), scene.isDelivered(one)]).toEqual([false, true]);
  });

  it('calls onAssigned for new partitions even if onLost never ends', async () => {
    const scene = new LifecycleTest();
    await scene.lifecycle.onAssigned([zero]);
    scene.gates['lost 0'] = new Deferred().promise;
    void scene.lifecycle.onLost([zero]);
    const assigned = scene.lifecycle.onAssigned([zero]);
    await scene.runtime.advance(60_000);
    await assigned;
    expect(scene.calls.slice(2)).toEqual(['lost 0', 'assigned 0', 'assigned 0 done']);
    expect(scene.isDelivered(zero)).toBe(true);
  });

  it('calls onLost at once, even while onRevoked runs, and onAssigned for new partitions after onRevoked', async () => {
    const scene = new LifecycleTest();
    await scene.lifecycle.onAssigned([zero, one]);
    scene.gates['revoked 0'] = new Deferred().promise;
    void scene.lifecycle.onRevoked([zero]);
    await scene.runtime.settle();
    await scene.lifecycle.onLost([zero]);
    await scene.lifecycle.onAssigned([zero]);
    expect(scene.calls.slice(2)).toEqual([
      'revoked 0',
      'lost 0',
      'lost 0 done',
      'assigned 0',
      'assigned 0 done',
    ]);
  });
});
