import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed, watched } from './consuming-test-bed.spec-support.js';

const MAX_POLL_MS = 20_000;
const WORK_MS = 5_000;
const settings = {
  maxPollIntervalMs: MAX_POLL_MS,
  stuckHandlerMs: MAX_POLL_MS,
  rebalanceDrainTimeoutMs: 10_000,
} as const;
const patient = { ...settings, maxPollIntervalMs: 60_000, stuckHandlerMs: 60_000 };

let testBed: ConsumingTestBed;
beforeEach(async () => (testBed = await ConsumingTestBed.of(2)));
afterEach(() => testBed.end());

const work = (ms = WORK_MS): Promise<Outcome> => sleep(testBed.runtime, ms).then(() => succeeded);

describe('the report of a close', () => {
  it('is complete if every record that was handed out is done and committed', async () => {
    await testBed.write(1, 0);
    const member = await testBed.started(() => work(), { settings });
    await testBed.until(() => member.handled.length === 1);
    expect(await testBed.done(member.session.close({ drainMs: 30_000 }))).toEqual({
      complete: true,
      abandoned: [],
    });
    expect(await testBed.committed()).toBe(1);
  });

  it('names records whose handlers run beyond the deadline', async () => {
    await testBed.write(1, 0);
    const member = await testBed.started(() => work(20_000), { settings: patient });
    await testBed.until(() => member.handled.length === 1);
    expect(await testBed.done(member.session.close({ drainMs: 1_000 }))).toEqual({
      complete: false,
      abandoned: [{ topic: 't', partition: 0, offset: 0 }],
    });
  });

  it('names records whose partition is revoked during the close, even if their handlers end before the deadline', async () => {
    await testBed.write(1, 0);
    await testBed.write(1, 1);
    const member = await testBed.started(() => work(25_000), { settings: patient });
    await testBed.until(() => member.handled.length === 2);
    const drained = watched(member.session.close({ drainMs: 30_000 }));
    const other = testBed.session(() => new Promise<Outcome>(() => undefined), { settings });
    void other.session.start().catch(() => undefined);
    await testBed.until(() => drained.ended);
    expect(drained.result?.complete).toBe(false);
    const taken = other.handled.map(({ topic, partition, offset }) => ({
      topic,
      partition,
      offset,
    }));
    expect(drained.result?.abandoned).toEqual(expect.arrayContaining(taken));
    expect(taken).not.toEqual([]);
  });

  it('is not complete if a partition was revoked without its last commit', async () => {
    await testBed.write(1, 0);
    await testBed.write(1, 1);
    const refusal = 'COORDINATOR_LOAD_IN_PROGRESS';
    testBed.broker.faults.refuse({ operation: 'commit' }, refusal, { times: Infinity });
    const member = await testBed.started(() => work(500), { settings });
    await testBed.until(() => member.session.counts.succeeded === 2);
    const other = testBed.session(() => new Promise<Outcome>(() => undefined), { settings });
    void other.session.start().catch(() => undefined);
    const drained = watched(member.session.close({ drainMs: 30_000 }));
    await testBed.until(() => drained.ended);
    expect(drained.result).toEqual({ complete: false, abandoned: [] });
  });
});

describe('the close of a session that leaves the group because of an overdue handler', () => {
  let hanging: Deferred<Outcome>;
  let signal: AbortSignal | undefined;

  /**
   * Returns a session that has left its group. The handler of partition 0 hangs. The handler of
   * partition 1 began a second before the other one exceeded maxPollIntervalMs.
   */
  const givenUp = async () => {
    hanging = new Deferred();
    await testBed.write(1, 0);
    const member = await testBed.started(
      (delivery) => {
        if (delivery.record.partition === 0) return hanging.promise;
        ({ signal } = delivery);
        return work();
      },
      { settings },
    );
    await testBed.until(() => member.handled.length === 1);
    await testBed.runtime.advance(MAX_POLL_MS - 1_000);
    await testBed.write(1, 1);
    await testBed.until(() => member.offsets(1).length === 1);
    await testBed.until(() => member.session.counts.membershipsGivenUp === 1);
    return member.session;
  };

  it('gives the other handlers the drain time, and commits their records', async () => {
    const drained = watched((await givenUp()).close({ drainMs: 30_000 }));
    await testBed.runtime.advance(WORK_MS - 2_000);
    expect(signal?.aborted).toBe(false);
    await testBed.runtime.advance(3_000);
    hanging.resolve(succeeded);
    await testBed.until(() => drained.ended);
    expect([await testBed.committed(0), await testBed.committed(1)]).toEqual([1, 1]);
    expect(drained.result).toEqual({ complete: true, abandoned: [] });
  });

  it('reports a record as abandoned if its handler ends after the partition was lost', async () => {
    const session = await givenUp();
    await testBed.until(() => session.status.assignment.length === 0);
    const drained = watched(session.close({ drainMs: 30_000 }));
    await testBed.runtime.advance(100);
    hanging.resolve(succeeded);
    await testBed.until(() => drained.ended);
    expect(await testBed.committed(0)).toBeUndefined();
    expect(drained.result).toEqual({
      complete: false,
      abandoned: [{ topic: 't', partition: 0, offset: 0 }],
    });
  });
});
