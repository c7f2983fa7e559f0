import type { AnswerResult } from '../../src/fleet/fleet-entry.js';
import type { FleetAnswer } from '../../src/fleet/fleet-answer.js';
import { errorOf } from '../support/test-bus.spec-support.js';
import { FleetTestBus, type Process } from './fleet-test-bus.spec-support.js';

const NOTE = { by: 'ann', reason: 'the database is moved' };
const pause = { name: 'pause' } as const;
const resume = { name: 'resume' } as const;
const stop = { name: 'stop' } as const;
const start = { name: 'start' } as const;

function resultsOf(answer: FleetAnswer | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (answer?.instances ?? []).map(({ instance, result }) => [instance, result]),
  );
}

describe('A command of the fleet', () => {
  let bus: FleetTestBus;

  beforeEach(async () => {
    bus = await FleetTestBus.create();
  });

  afterEach(() => bus.end());

  const give = async (
    process: Process,
    ...[action, options]: [
      action: Parameters<Process['admin']['command']>[0],
      options?: Parameters<Process['admin']['command']>[2],
    ]
  ) => bus.done(process.admin.command(action, 'orders', { ...NOTE, ...options }));

  it('reaches every process, and the answer names each of them', async () => {
    const all = await bus.processes('a', 'b', 'c');
    const done: Readonly<Record<string, AnswerResult>> = { a: 'done', b: 'done', c: 'done' };
    for (const [action, state] of [
      [pause, 'PAUSED'],
      [resume, 'RUNNING'],
      [stop, 'STOPPED'],
      [start, 'RUNNING'],
    ] as const) {
      const { binding, fleet } = await give(all[1]!, action);
      expect([action.name, binding.state, fleet?.isComplete]).toEqual([action.name, state, true]);
      expect(resultsOf(fleet)).toEqual(done);
      expect(fleet?.instances.map((each) => each.state)).toEqual([state, state, state]);
      expect(all.map((each) => bus.stateOf(each))).toEqual([state, state, state]);
    }
  });

  it('pauses and resumes one retry tier everywhere', async () => {
    const all = await bus.processes('a', 'b');
    const tiers = async () =>
      (await bus.done(all[0]!.admin.instances())).instances.map(
        ({ bindings }) => bindings[0]?.pausedTiers,
      );
    const paused = await give(all[0]!, { name: 'pause-tier', tier: 1 });
    await bus.runtime.advance(2_000);
    expect([resultsOf(paused.fleet), await tiers()]).toEqual([
      { a: 'done', b: 'done' },
      [[1], [1]],
    ]);
    await give(all[1]!, { name: 'resume-tier', tier: 1 });
    await bus.runtime.advance(2_000);
    expect(await tiers()).toEqual([[], []]);
    const unknown = await errorOf(give(all[0]!, { name: 'pause-tier', tier: 9 }));
    expect(unknown).toMatchObject({ code: 'TIER_NOT_FOUND' });
  });

  it('is audited in every process with who gave it, where and why', async () => {
    const all = await bus.processes('a', 'b');
    const { fleet } = await give(all[0]!, pause);
    for (const { commands } of all)
      expect(commands).toEqual([
        expect.objectContaining({
          ...{
            command: 'pause',
            binding: 'orders',
            by: 'ann',
            reason: NOTE.reason,
            outcome: 'done',
          },
          fleet: { id: fleet?.id, from: 'a' },
        }),
      ]);
  });

  it('says which process was in that state before, and which refuses', async () => {
    const [a, b] = (await bus.processes('a', 'b')) as [Process, Process];
    await bus.done(b.admin.pause('orders', { by: 'bob' }));
    expect(resultsOf((await give(a, pause)).fleet)).toEqual({ a: 'done', b: 'unchanged' });
    await bus.done(b.admin.stop('orders'));
    const resumed = await give(a, resume);
    expect(resultsOf(resumed.fleet)).toEqual({ a: 'done', b: 'refused' });
    expect(resumed.fleet).toMatchObject({
      isComplete: false,
      instances: [{}, { instance: 'b', code: 'INVALID_CONTAINER_STATE', state: 'STOPPED' }],
    });
  });

  it('says which process has not answered in time', async () => {
    const a = await bus.process('a');
    const slow = await bus.process('slow', { pollIntervalMs: 60_000, reportIntervalMs: 600_000 });
    await bus.runtime.advance(2_000);
    const { fleet } = await give(a, pause, { waitMs: 3_000 });
    expect(resultsOf(fleet)).toEqual({ a: 'done', slow: 'no-answer' });
    expect([fleet?.isComplete, bus.stateOf(slow)]).toEqual([false, 'RUNNING']);
  });

  it('that waits for an answer does not delay the shutdown', async () => {
    const a = await bus.process('a');
    await bus.process('slow', { pollIntervalMs: 600_000, reportIntervalMs: 600_000 });
    await bus.runtime.advance(2_000);
    const now = (): number => bus.runtime.monotonic();
    // The shutdown may destroy the binding before the answer can show it.
    const ended = give(a, pause, { waitMs: 60_000 }).then(now, now);
    await bus.runtime.advance(2_000);
    const closing = now();
    await bus.done(a.application.close());
    expect((await ended) - closing).toBeLessThan(10_000);
  });

  it('is not obeyed after its validity, but the pause that is in force is adopted', async () => {
    const a = await bus.process('a');
    const slow = await bus.process('slow', { pollIntervalMs: 60_000, reportIntervalMs: 600_000 });
    await bus.runtime.advance(2_000);
    const given = give(a, pause, { waitMs: 120_000, validMs: 1_000 });
    const { fleet } = await given;
    expect(resultsOf(fleet)).toEqual({ a: 'done', slow: 'expired' });
    await bus.runtime.advance(1_000);
    expect([bus.stateOf(slow), bus.pausesOf(slow)]).toEqual(['PAUSED', ['operator']]);
    expect(slow.commands).toMatchObject([{ fleet: { from: 'the order in force' }, by: 'ann' }]);
    expect(bus.log.warnings).toContainEqual(expect.stringContaining('came too late'));
  });

  it('that came and went while a process was away leaves it as it was', async () => {
    const a = await bus.process('a');
    const slow = await bus.process('slow', { pollIntervalMs: 60_000, reportIntervalMs: 600_000 });
    await bus.runtime.advance(2_000);
    await give(a, pause, { waitMs: 500, validMs: 1_000 });
    await give(a, resume, { waitMs: 500, validMs: 1_000 });
    await bus.runtime.advance(61_000);
    expect([bus.stateOf(a), bus.stateOf(slow), slow.commands]).toEqual(['RUNNING', 'RUNNING', []]);
  });

  it('that ends a pause while a process is away ends it there, too', async () => {
    const a = await bus.process('a');
    const slow = await bus.process('slow', { pollIntervalMs: 60_000, reportIntervalMs: 600_000 });
    await bus.runtime.advance(2_000);
    await give(a, pause, { waitMs: 120_000, validMs: 120_000 });
    expect(bus.stateOf(slow)).toBe('PAUSED');
    await give(a, resume, { waitMs: 500, validMs: 1_000 });
    await bus.runtime.advance(61_000);
    expect(bus.stateOf(slow)).toBe('RUNNING');
  });

  it('to decide about a record is complete when one process has done it', async () => {
    const all = await bus.processes('a', 'b');
    const { fleet } = await give(all[0]!, {
      ...{ name: 'decide', topic: 'orders', partition: 0, decision: 'skip' },
    });
    expect([fleet?.isComplete, resultsOf(fleet)]).toEqual([false, { a: 'refused', b: 'refused' }]);
    expect(fleet?.instances[0]).toMatchObject({ code: 'NO_RECORD_WAITS' });
  });

  it('runs in the order of the topic if two operators give one at once', async () => {
    const [a, b] = (await bus.processes('a', 'b')) as [Process, Process];
    await Promise.all([give(a, pause), give(b, stop)]);
    expect(bus.stateOf(a)).toBe(bus.stateOf(b));
    await bus.done(Promise.all([give(a, start), give(b, pause).catch(() => undefined)]));
    await bus.runtime.advance(5_000);
    expect(bus.stateOf(a)).toBe(bus.stateOf(b));
  });

  it('reaches this process only with that scope, and says so', async () => {
    const [a, b] = (await bus.processes('a', 'b')) as [Process, Process];
    const { fleet } = await give(a, pause, { scope: 'process' });
    await bus.runtime.advance(5_000);
    expect([fleet, bus.stateOf(a), bus.stateOf(b)]).toEqual([undefined, 'PAUSED', 'RUNNING']);
  });

  it('reaches this process only without a control topic, and says so', async () => {
    const a = await bus.process('a', null);
    const b = await bus.process('b', null);
    expect((await give(a, pause)).fleet).toBeUndefined();
    expect([bus.stateOf(a), bus.stateOf(b)]).toEqual(['PAUSED', 'RUNNING']);
    expect(await errorOf(give(a, resume, { scope: 'fleet' }))).toMatchObject({
      code: 'FLEET_NOT_CONFIGURED',
    });
    expect(await bus.done(a.admin.instances())).toMatchObject({
      scope: 'process',
      instances: [{ bindings: [{ name: 'orders', state: 'PAUSED' }] }],
    });
  });

  it('does not concern the binding of another group', async () => {
    const a = await bus.process('a');
    const other = await bus.process(
      'other',
      {},
      { bindings: { orders: { topic: 'orders', groupId: 'another' } } },
    );
    const { fleet } = await give(a, pause);
    expect([resultsOf(fleet), bus.stateOf(other)]).toEqual([{ a: 'done' }, 'RUNNING']);
  });
});
