import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { IntakeWorld, watched } from './intake-world.spec-support.js';

const MAX_POLL_MS = 20_000;
const WORK_MS = 5_000;
const settings = {
  maxPollIntervalMs: MAX_POLL_MS,
  stuckHandlerMs: MAX_POLL_MS,
  rebalanceDrainTimeoutMs: 10_000,
} as const;
const patient = { ...settings, maxPollIntervalMs: 60_000, stuckHandlerMs: 60_000 };

let world: IntakeWorld;
beforeEach(async () => (world = await IntakeWorld.of(2)));
afterEach(() => world.end());

const work = (ms = WORK_MS): Promise<Outcome> => sleep(world.runtime, ms).then(() => succeeded);

describe('a drain', () => {
  it('is complete where all that was handed out is done and committed', async () => {
    await world.write(1, 0);
    const member = await world.started(() => work(), { settings });
    await world.until(() => member.handled.length === 1);
    expect(await world.done(member.intake.drain(30_000))).toEqual({
      complete: true,
      abandoned: [],
    });
    expect(await world.committed()).toBe(1);
  });

  it('names those that run beyond the deadline', async () => {
    await world.write(1, 0);
    const member = await world.started(() => work(20_000), { settings: patient });
    await world.until(() => member.handled.length === 1);
    expect(await world.done(member.intake.drain(1_000))).toEqual({
      complete: false,
      abandoned: [{ topic: 't', partition: 0, offset: 0 }],
    });
  });

  it('names those whose partition is taken away meanwhile, however soon they end', async () => {
    await world.write(1, 0);
    await world.write(1, 1);
    const member = await world.started(() => work(25_000), { settings: patient });
    await world.until(() => member.handled.length === 2);
    const drained = watched(member.intake.drain(30_000));
    const other = world.intake(() => new Promise<Outcome>(() => undefined), { settings });
    void other.intake.start().catch(() => undefined);
    await world.until(() => drained.ended);
    expect(drained.result?.complete).toBe(false);
    const taken = other.handled.map(({ topic, partition, offset }) => ({
      topic,
      partition,
      offset,
    }));
    expect(drained.result?.abandoned).toEqual(expect.arrayContaining(taken));
    expect(taken).not.toEqual([]);
  });

  it('is not complete where a partition went without its last commit', async () => {
    await world.write(1, 0);
    await world.write(1, 1);
    const refusal = 'COORDINATOR_LOAD_IN_PROGRESS';
    world.broker.faults.refuse({ operation: 'commit' }, refusal, { times: Infinity });
    const member = await world.started(() => work(500), { settings });
    await world.until(() => member.intake.counts.succeeded === 2);
    const other = world.intake(() => new Promise<Outcome>(() => undefined), { settings });
    void other.intake.start().catch(() => undefined);
    const drained = watched(member.intake.drain(30_000));
    await world.until(() => drained.ended);
    expect(drained.result).toEqual({ complete: false, abandoned: [] });
  });
});

describe('a drain after a member was given up for a handler that is overdue', () => {
  let hanging: Deferred<Outcome>;
  let signal: AbortSignal | undefined;

  /** Partition 0 hangs; partition 1 has begun a second before the other one is overdue. */
  const givenUp = async () => {
    hanging = new Deferred();
    await world.write(1, 0);
    const member = await world.started(
      (delivery) => {
        if (delivery.record.partition === 0) return hanging.promise;
        ({ signal } = delivery);
        return work();
      },
      { settings },
    );
    await world.until(() => member.handled.length === 1);
    await world.runtime.advance(MAX_POLL_MS - 1_000);
    await world.write(1, 1);
    await world.until(() => member.offsets(1).length === 1);
    await world.until(() => member.intake.counts.membershipsGivenUp === 1);
    return member.intake;
  };

  it('leaves the others the time that it has, and commits what they do', async () => {
    const drained = watched((await givenUp()).drain(30_000));
    await world.runtime.advance(WORK_MS - 2_000);
    expect(signal?.aborted).toBe(false);
    await world.runtime.advance(3_000);
    hanging.resolve(succeeded);
    await world.until(() => drained.ended);
    expect([await world.committed(0), await world.committed(1)]).toEqual([1, 1]);
    expect(drained.result).toEqual({ complete: true, abandoned: [] });
  });

  it('counts for nothing what ends between two consumer sessions', async () => {
    const intake = await givenUp();
    await world.until(() => intake.status.assignment.length === 0);
    const drained = watched(intake.drain(30_000));
    await world.runtime.advance(100);
    hanging.resolve(succeeded);
    await world.until(() => drained.ended);
    expect(await world.committed(0)).toBeUndefined();
    expect(drained.result).toEqual({
      complete: false,
      abandoned: [{ topic: 't', partition: 0, offset: 0 }],
    });
  });
});
