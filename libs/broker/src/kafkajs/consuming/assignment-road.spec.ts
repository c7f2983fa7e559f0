import { ConnectionError } from '../../port/errors.js';
import { silentLogger } from '../../port/silent-logger.js';
import { VirtualRuntime } from '../../runtime/index.js';
import type { Cluster } from '../wire/index.js';
import { AssignmentRoad } from './assignment-road.js';
import { Ownership } from './ownership.js';
import type { StartPositions } from './start-positions.js';
import { StatusBoard } from './status-board.js';

const ORDERS = [{ topic: 'orders', partition: 0 }];

/** A road whose leaders cannot be asked. */
class Scene {
  readonly runtime = new VirtualRuntime();
  readonly board = new StatusBoard(this.runtime, silentLogger);
  readonly announced: number[] = [];
  asked = 0;
  readonly road = new AssignmentRoad({
    cluster: { runtime: this.runtime, metadata: { topic: () => undefined } } as unknown as Cluster,
    ownership: new Ownership(),
    positions: {
      of: () => {
        this.asked++;
        return Promise.reject(new ConnectionError('gone'));
      },
    } as unknown as StartPositions,
    board: this.board,
    logger: silentLogger,
    groupId: 'group',
    committed: () => Promise.resolve([]),
    listener: () => ({
      onAssigned: (partitions) => void this.announced.push(partitions.length),
      onRevoked: () => undefined,
      onLost: () => undefined,
    }),
    onReady: () => undefined,
  });

  constructor() {
    this.board.set({ state: 'stable', since: 0, generation: 1 });
  }
}

describe('a partition whose start is not told', () => {
  it('is asked for again after a pause, until it is handed back', async () => {
    const scene = new Scene();
    const { road, runtime } = scene;
    const assigned = road.assigned(ORDERS, new AbortController().signal);
    await runtime.advance(10_000);
    await assigned;
    expect(scene.announced).toEqual([0]);
    const { asked } = scene;
    expect(asked).toBeGreaterThan(3);
    await road.revoked(ORDERS);
    await runtime.advance(60_000);
    expect(scene.asked).toBe(asked);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('is given up, with its trouble in the status, when there is no timer to pause with', async () => {
    const scene = new Scene();
    const setTimer = scene.runtime.setTimer.bind(scene.runtime);
    let refused = 0;
    // A loop that does not give up gets its timers in the end, so that this case cannot hang.
    scene.runtime.setTimer = (callback, delayMs) => {
      if (++refused <= 50) throw new TypeError('no timers here');
      return setTimer(callback, delayMs);
    };
    await scene.road.assigned(ORDERS, new AbortController().signal);
    await scene.runtime.settle();
    expect(scene.asked).toBe(1);
    expect(scene.board.status).toMatchObject({ state: 'retrying', error: { message: 'gone' } });
  });
});
