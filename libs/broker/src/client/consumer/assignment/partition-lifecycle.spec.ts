import type { OffsetCommit, PositionReset } from '../../../port/consumer.js';
import { AuthorizationError, ConnectionError } from '../../../port/errors.js';
import { silentLogger } from '../../../port/silent-logger.js';
import type { TopicPartition } from '../../../port/record.js';
import { Deferred, VirtualRuntime } from '../../../runtime/index.js';
import type { Cluster } from '../../../wire/index.js';
import { PartitionLifecycle } from './partition-lifecycle.js';
import { OwnedPartitions } from './owned-partitions.js';
import type { StartPosition, StartPositions } from './start-positions.js';
import { ConsumerStatus } from '../consumer-status.js';

const [zero, one] = [0, 1].map((partition) => ({ topic: 'orders', partition })) as [
  TopicPartition,
  TopicPartition,
];

class Scene {
  readonly runtime = new VirtualRuntime();
  readonly board = new ConsumerStatus(this.runtime, silentLogger);
  readonly ownership = new OwnedPartitions();
  /** What the listener was told, with the numbers of the partitions. */
  readonly told: string[] = [];
  asked = 0;
  readonly kept: OffsetCommit[] = [];
  /** When what is kept has been committed. */
  stored: Promise<void> = Promise.resolve();
  /** Why it starts where it does; undefined at a committed offset. */
  reset: Pick<PositionReset, 'policy' | 'reason'> | undefined;
  /** Where reading of a partition starts; throws while its leader cannot be asked. */
  startOf: (partition: number) => number | Promise<number> = () => 5;
  committed: (signal: AbortSignal, onTrouble: (error: Error) => void) => Promise<[]> = () =>
    Promise.resolve([]);
  /** What the listener waits for, by what it is told. */
  readonly gates: Partial<Record<string, Promise<void>>> = {};
  readonly road: PartitionLifecycle;

  constructor(rebalanceTimeoutMs = 30_000) {
    this.road = new PartitionLifecycle({
      cluster: {
        runtime: this.runtime,
        metadata: { topic: () => undefined },
      } as unknown as Cluster,
      ownedPartitions: this.ownership,
      positions: {
        of: async ({ topic, partition }: TopicPartition): Promise<StartPosition> => {
          this.asked++;
          const offset = await this.startOf(partition);
          const reset = this.reset && { topic, partition, from: null, to: offset, ...this.reset };
          return { kind: 'at', offset, leaderEpoch: 7, ...(reset && { reset }) };
        },
      } as unknown as StartPositions,
      status: this.board,
      logger: silentLogger,
      groupId: 'group',
      fetchCommitted: (_, signal, onTrouble) => this.committed(signal, onTrouble),
      listener: () => ({
        onAssigned: (partitions) => this.#tell('assigned', partitions),
        onRevoked: (partitions) => this.#tell('revoked', partitions),
        onLost: (partitions) => this.#tell('lost', partitions),
      }),
      commitStarts: async (starts) => {
        this.kept.push(...starts);
        await this.stored;
      },
      rebalanceTimeoutMs,
      onReady: () => undefined,
    });
    this.board.setMembership({ state: 'stable', since: 0, generation: 1 });
  }

  isDelivered(partition: TopicPartition): boolean {
    return this.ownership.get(partition)?.deliverable === true;
  }

  async #tell(what: string, partitions: readonly TopicPartition[]): Promise<void> {
    const line = [what, ...partitions.map(({ partition }) => partition)].join(' ');
    this.told.push(line);
    await this.gates[line];
    this.told.push(`${line} done`);
  }
}

const unreachable = (): never => {
  throw new ConnectionError('gone');
};

describe('a partition whose start is not told', () => {
  it('is asked for again after a pause, until it is handed back', async () => {
    const scene = new Scene();
    const { road, runtime } = scene;
    scene.startOf = unreachable;
    const assigned = road.onAssigned([zero]);
    await runtime.advance(10_000);
    await assigned;
    expect(scene.told).toEqual(['assigned', 'assigned done']);
    const { asked } = scene;
    expect(asked).toBeGreaterThan(3);
    await road.onRevoked([zero]);
    await runtime.advance(60_000);
    expect(scene.asked).toBe(asked);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('is given up, with its trouble in the status, when there is no timer to pause with', async () => {
    const scene = new Scene();
    scene.startOf = unreachable;
    const setTimer = scene.runtime.setTimer.bind(scene.runtime);
    let refused = 0;
    // A loop that does not give up gets its timers in the end, so that this case cannot hang.
    scene.runtime.setTimer = (callback, delayMs) => {
      if (++refused <= 50) throw new TypeError('no timers here');
      return setTimer(callback, delayMs);
    };
    await scene.road.onAssigned([zero]);
    await scene.runtime.settle();
    expect(scene.asked).toBe(1);
    expect(scene.board.status).toMatchObject({ state: 'retrying', error: { message: 'gone' } });
  });

  it('does not keep the others waiting for long, and is announced later', async () => {
    const scene = new Scene();
    let isBack = false;
    scene.startOf = (partition) => (partition === 0 && !isBack ? unreachable() : 5);
    const assigned = scene.road.onAssigned([zero, one]);
    await scene.runtime.advance(5_000);
    await assigned;
    expect(scene.told).toEqual(['assigned 1', 'assigned 1 done']);
    isBack = true;
    await scene.runtime.advance(10_000);
    expect(scene.told.slice(2)).toEqual(['assigned 0', 'assigned 0 done']);
  });

  it('is read though the listener throws when it is announced later, and the status says so', async () => {
    const scene = new Scene();
    const troubles: string[] = [];
    scene.board.subscribe((status) => 'error' in status && troubles.push(status.error.message));
    let isBack = false;
    scene.startOf = (partition) => (partition === 0 && !isBack ? unreachable() : 5);
    const loading = new Deferred();
    scene.gates['assigned 0'] = loading.promise;
    const assigned = scene.road.onAssigned([zero, one]);
    await scene.runtime.advance(5_000);
    await assigned;
    isBack = true;
    await scene.runtime.advance(10_000);
    loading.reject(new Error('not loaded'));
    await scene.runtime.settle();
    expect(troubles).toEqual(['gone', 'not loaded']);
    expect(scene.board.status.state).toBe('stable');
    expect(scene.isDelivered(zero)).toBe(true);
  });
});

describe('partitions whose committed offsets are refused', () => {
  const refused = (): Promise<never> => Promise.reject(new AuthorizationError('not granted'));

  it('are told of as trouble, asked about again, and read once they are told', async () => {
    const scene = new Scene();
    scene.committed = refused;
    await expect(scene.road.onAssigned([zero, one])).rejects.toBeInstanceOf(AuthorizationError);
    await scene.runtime.advance(60_000);
    expect(scene.told).toEqual([]);
    expect(scene.board.status).toMatchObject({ error: { message: 'not granted' } });
    scene.committed = () => Promise.resolve([]);
    await scene.runtime.advance(10_000);
    expect(scene.told).toEqual(['assigned 0 1', 'assigned 0 1 done']);
    expect([scene.isDelivered(zero), scene.isDelivered(one)]).toEqual([true, true]);
    expect(scene.board.status.state).toBe('stable');
  });

  it('are a trouble of the status while they are looked for, also while the member joins', async () => {
    const scene = new Scene();
    scene.board.setMembership({ state: 'joining', since: 0 });
    const found = new Deferred<[]>();
    scene.committed = (_, onTrouble) => {
      onTrouble(new ConnectionError('no coordinator'));
      return found.promise;
    };
    const assigned = scene.road.onAssigned([zero]);
    await scene.runtime.settle();
    expect(scene.board.status).toMatchObject({
      state: 'retrying',
      error: { message: 'no coordinator' },
    });
    found.resolve([]);
    await assigned;
    expect(scene.board.status.state).toBe('joining');
  });

  it('trouble nobody any more when they have left', async () => {
    const scene = new Scene();
    scene.committed = refused;
    await scene.road.onAssigned([zero]).catch(() => undefined);
    await scene.runtime.advance(1_000);
    await scene.road.onRevoked([zero]);
    await scene.runtime.advance(10_000);
    expect(scene.board.status.state).toBe('stable');
    expect(scene.runtime.pendingTimers).toBe(0);
  });
});

describe('where a partition starts', () => {
  const kept = { ...zero, offset: 5, leaderEpoch: 7 };

  it.each([
    [{ policy: 'latest', reason: 'no-offset' }, [kept]],
    [{ policy: 'earliest', reason: 'new-partition' }, [kept]],
    // From the beginning: looked for again, it is the same or there is no other.
    [{ policy: 'earliest', reason: 'no-offset' }, []],
    [undefined, []],
  ] as const)(
    'is committed if looking again could pass something over: %j',
    async (reset, starts) => {
      const scene = new Scene();
      scene.reset = reset;
      await scene.road.onAssigned([zero]);
      expect(scene.kept).toEqual(starts);
    },
  );

  it('is where the listener has sought, if it has', async () => {
    const scene = new Scene();
    scene.reset = { policy: 'latest', reason: 'no-offset' };
    Object.defineProperty(scene.gates, 'assigned 0', {
      get: () => scene.ownership.get(zero)?.moveTo(2),
    });
    await scene.road.onAssigned([zero]);
    expect(scene.kept).toMatchObject([{ offset: 2 }]);
  });

  it('is not committed over what the listener has committed', async () => {
    const scene = new Scene();
    scene.reset = { policy: 'latest', reason: 'no-offset' };
    const start = new Deferred<number>();
    scene.startOf = () => start.promise;
    const assigned = scene.road.onAssigned([zero]);
    const owned = scene.ownership.get(zero);
    if (owned) owned.commitCount++;
    start.resolve(5);
    await assigned;
    expect(scene.kept).toEqual([]);
  });
});

describe('the first record of a partition whose start is to be stored', () => {
  it('is handed out when it is: a commit of that record could be taken back otherwise', async () => {
    const scene = new Scene();
    scene.reset = { policy: 'latest', reason: 'no-offset' };
    const stored = new Deferred();
    scene.stored = stored.promise;
    await scene.road.onAssigned([zero]);
    await scene.runtime.settle();
    expect([scene.told, scene.ownership.get(zero)?.deliverable]).toEqual([
      ['assigned 0', 'assigned 0 done'],
      false,
    ]);
    stored.resolve();
    await scene.runtime.settle();
    expect(scene.ownership.get(zero)?.deliverable).toBe(true);
  });

  it('does not come once the partition has left meanwhile', async () => {
    const scene = new Scene();
    scene.reset = { policy: 'latest', reason: 'no-offset' };
    const stored = new Deferred();
    scene.stored = stored.promise;
    await scene.road.onAssigned([zero]);
    const owned = scene.ownership.get(zero);
    await scene.road.onLost([zero]);
    stored.resolve();
    await scene.runtime.settle();
    expect(owned?.deliverable).toBe(false);
  });
});

describe('where a partition starts, when it leaves at once', () => {
  const latest = (rebalanceTimeoutMs?: number): Scene => {
    const scene = new Scene(rebalanceTimeoutMs);
    scene.reset = { policy: 'latest', reason: 'no-offset' };
    return scene;
  };

  it('is stored before it is handed back', async () => {
    const scene = latest();
    const stored = new Deferred();
    scene.stored = stored.promise;
    await scene.road.onAssigned([zero]);
    const revoked = scene.road.onRevoked([zero]);
    await scene.runtime.settle();
    expect(scene.told.at(-1)).toBe('revoked 0 done');
    expect(scene.ownership.list()).toEqual([zero]);
    stored.resolve();
    await revoked;
    expect(scene.ownership.list()).toEqual([]);
    expect(scene.runtime.pendingTimers).toBe(0);
  });

  it.each([
    ['would take most of the rebalance', 6_000, 3_000],
    ['takes 5 s, however long the rebalance may take', 300_000, 5_000],
  ])('is given up when storing it %s', async (_, rebalanceTimeoutMs, patienceMs) => {
    const scene = latest(rebalanceTimeoutMs);
    scene.stored = new Deferred().promise;
    await scene.road.onAssigned([zero]);
    const revoked = scene.road.onRevoked([zero]);
    await scene.runtime.advance(patienceMs - 1);
    expect(scene.ownership.list()).toEqual([zero]);
    await scene.runtime.advance(1);
    await revoked;
    expect(scene.ownership.list()).toEqual([]);
  });

  it('is committed though the listener hears of its coming and its going in one', async () => {
    const scene = latest();
    const loading = new Deferred();
    scene.gates['assigned 0'] = loading.promise;
    const assigned = scene.road.onAssigned([zero]);
    await scene.runtime.settle();
    const revoked = scene.road.onRevoked([zero]);
    loading.resolve();
    await Promise.all([assigned, revoked]);
    expect(scene.kept).toEqual([{ ...zero, offset: 5, leaderEpoch: 7 }]);
  });

  it('is not committed any more once it is lost', async () => {
    const scene = latest();
    const loading = new Deferred();
    scene.gates['assigned 0'] = loading.promise;
    const assigned = scene.road.onAssigned([zero]);
    await scene.runtime.settle();
    await scene.road.onLost([zero]);
    loading.resolve();
    await assigned;
    expect(scene.kept).toEqual([]);
  });
});

describe('partitions that leave while others stay', () => {
  it('leave without a word when they were not announced, and the others are announced', async () => {
    const scene = new Scene();
    const start = new Deferred<number>();
    scene.startOf = () => start.promise;
    const assigned = scene.road.onAssigned([zero, one]);
    await scene.runtime.settle();
    await scene.road.onRevoked([zero]);
    start.resolve(5);
    await assigned;
    expect(scene.told).toEqual(['assigned 1', 'assigned 1 done']);
    expect(scene.ownership.list()).toEqual([one]);
    expect(scene.isDelivered(one)).toBe(true);
  });

  it('end the look-up of committed offsets only when all have left', async () => {
    const scene = new Scene();
    let signal: AbortSignal | undefined;
    scene.committed = (until) =>
      new Promise((_, reject) => {
        signal = until;
        until.addEventListener('abort', () => reject(until.reason as Error));
      });
    const assigned = scene.road.onAssigned([zero, one]);
    await scene.road.onRevoked([zero]);
    expect(signal?.aborted).toBe(false);
    await scene.road.onRevoked([one]);
    await assigned;
    expect(signal?.aborted).toBe(true);
    expect(scene.told).toEqual([]);
    expect(scene.runtime.pendingTimers).toBe(0);
  });

  it('are revoked after the listener was told that they came', async () => {
    const scene = new Scene();
    const loading = new Deferred();
    scene.gates['assigned 0 1'] = loading.promise;
    const assigned = scene.road.onAssigned([zero, one]);
    await scene.runtime.settle();
    const revoked = scene.road.onRevoked([zero]);
    await scene.runtime.settle();
    expect(scene.told).toEqual(['assigned 0 1']);
    expect(scene.ownership.list()).toHaveLength(2);
    loading.resolve();
    await Promise.all([assigned, revoked]);
    expect(scene.told.slice(1)).toEqual(['assigned 0 1 done', 'revoked 0', 'revoked 0 done']);
    expect([scene.isDelivered(zero), scene.isDelivered(one)]).toEqual([false, true]);
  });

  it('do not disturb what is handed out of the others', async () => {
    const scene = new Scene();
    await scene.road.onAssigned([zero, one]);
    scene.gates['revoked 0'] = new Deferred().promise;
    void scene.road.onRevoked([zero]);
    await scene.runtime.settle();
    expect([scene.isDelivered(zero), scene.isDelivered(one)]).toEqual([false, true]);
  });

  it('come, though the listener never ends with what was lost', async () => {
    const scene = new Scene();
    await scene.road.onAssigned([zero]);
    scene.gates['lost 0'] = new Deferred().promise;
    void scene.road.onLost([zero]);
    const assigned = scene.road.onAssigned([zero]);
    await scene.runtime.advance(60_000);
    await assigned;
    expect(scene.told.slice(2)).toEqual(['lost 0', 'assigned 0', 'assigned 0 done']);
    expect(scene.isDelivered(zero)).toBe(true);
  });

  it('are lost at once, whatever the listener is still at, and new ones come after that', async () => {
    const scene = new Scene();
    await scene.road.onAssigned([zero, one]);
    scene.gates['revoked 0'] = new Deferred().promise;
    void scene.road.onRevoked([zero]);
    await scene.runtime.settle();
    await scene.road.onLost([zero]);
    await scene.road.onAssigned([zero]);
    expect(scene.told.slice(2)).toEqual([
      'revoked 0',
      'lost 0',
      'lost 0 done',
      'assigned 0',
      'assigned 0 done',
    ]);
  });
});
