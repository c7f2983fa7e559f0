import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { PartitionLane } from '../lanes/partition-lane.js';
import { ConsumingTestBed, watched } from './consuming-test-bed.spec-support.js';

const settings = { rebalanceDrainTimeoutMs: 10_000, maxPollIntervalMs: 60_000 } as const;

describe('LaneDrain', () => {
  let testBed: ConsumingTestBed;
  let ended: PartitionLane[];

  beforeEach(async () => {
    ended = [];
    const { end } = PartitionLane.prototype;
    jest.spyOn(PartitionLane.prototype, 'end').mockImplementation(function (this: PartitionLane) {
      ended.push(this);
      end.call(this);
    });
    testBed = await ConsumingTestBed.of(2);
    for (const partition of [0, 1]) await testBed.write(4, partition);
  });

  afterEach(async () => {
    await testBed.end();
    jest.restoreAllMocks();
  });

  const work = (ms: number) => (): Promise<Outcome> =>
    sleep(testBed.runtime, ms).then(() => succeeded);

  it.each([
    ['with time for its handlers', 30_000, true],
    ['without time for its handlers', 0, false],
  ])('ends each lane exactly once when a session closes %s', async (_, drainMs, complete) => {
    const { session, handled } = await testBed.started(work(5_000), { settings });
    await testBed.until(() => handled.length === 2);
    expect(await testBed.done(session.close({ drainMs }))).toMatchObject({ complete });
    expect([ended.length, new Set(ended).size]).toEqual([2, 2]);
  });

  it('ends each lane exactly once when its partition is revoked', async () => {
    const first = await testBed.started(work(500), { settings });
    await testBed.until(() => first.handled.length === 2);
    await testBed.started(work(500), { settings });
    expect([ended.length, new Set(ended).size]).toEqual([2, 2]);
    expect(ended.map(({ committed }) => committed)).toEqual([2, 2]);
  });

  it('ends each lane exactly once when its partition is revoked while the session closes', async () => {
    const first = await testBed.started(work(25_000), { settings });
    await testBed.until(() => first.handled.length === 2);
    const closed = watched(first.session.close({ drainMs: 30_000 }));
    const second = testBed.session(work(100), { settings });
    await testBed.done(second.session.start());
    await testBed.until(() => closed.ended);
    expect(new Set(ended.map(({ partition }) => partition)).size).toBe(2);
    expect(new Set(ended).size).toBe(ended.length);
    expect(closed.result).toMatchObject({
      complete: false,
      abandoned: [{ offset: 0 }, { offset: 0 }],
    });
  });

  it('ends each lane exactly once when a session that failed is replaced and closed meanwhile', async () => {
    const gate = new Deferred<Outcome>();
    const member = await testBed.started(() => gate.promise, { settings });
    await testBed.until(() => member.handled.length === 2);
    const heartbeats = { operation: 'heartbeat' } as const;
    testBed.broker.faults.refuse(heartbeats, 'GROUP_AUTHORIZATION_FAILED', { times: 1 });
    await testBed.until(() => ended.length > 0);
    const closed = watched(member.session.close({ drainMs: 3_000 }));
    await testBed.until(() => closed.ended);
    expect(closed.result?.abandoned).toHaveLength(2);
    expect(ended).toHaveLength(2);
    gate.resolve(succeeded);
  });
});
