import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { errorOf } from '../support/test-bus.spec-support.js';
import { FleetTestBus, type Process } from './fleet-test-bus.spec-support.js';

describe('A process that joins the fleet', () => {
  let bus: FleetTestBus;
  let first: Process;

  beforeEach(async () => {
    bus = await FleetTestBus.create();
    first = await bus.process('first');
  });

  afterEach(() => bus.end());

  const give = async (
    process: Process,
    name: 'pause' | 'resume' | 'stop' | 'start',
    reason = 'because',
  ) => bus.done(process.admin.command({ name }, 'orders', { by: 'ann', reason }));

  it('adopts a pause that is in force, and handles no record before', async () => {
    await give(first, 'pause');
    await bus.write('orders', '1', '2');
    await bus.done(first.application.close());
    const second = await bus.process('second');
    await bus.runtime.advance(30_000);
    expect([bus.stateOf(second), second.handled]).toEqual(['PAUSED', []]);
    expect(second.admin.listBindings().bindings[0]?.lastCommand).toMatchObject({
      ...{ operation: 'pause', by: 'ann', reason: 'because' },
    });
    await give(second, 'resume');
    await bus.runtime.advance(10_000);
    expect(second.handled).toEqual([1, 2]);
  });

  it('does not start a binding that the fleet was told to stop', async () => {
    await give(first, 'stop');
    const second = await bus.process('second');
    expect(bus.stateOf(second)).toBe('CREATED');
    expect(bus.log.warnings).toContainEqual(expect.stringContaining('keeps it stopped'));
    await give(first, 'start');
    expect([bus.stateOf(first), bus.stateOf(second)]).toEqual(['RUNNING', 'RUNNING']);
  });

  it('adopts nothing that has ended, and obeys no command from before its start', async () => {
    await give(first, 'pause');
    await give(first, 'resume');
    const second = await bus.process('second');
    await bus.runtime.advance(5_000);
    expect([bus.stateOf(second), second.commands]).toEqual(['RUNNING', []]);
  });

  it('does not start a binding that is registered later, if the fleet was told to stop it', async () => {
    await give(first, 'stop');
    const connector = first.application.get(EventBusConnector, { strict: false });
    await bus.done(connector.unregister('orders'));
    const registering = connector.registerDeclared('orders', { topic: 'orders', groupId: 'shop' });
    expect(await bus.done(registering)).toMatchObject({ state: 'CREATED' });
    expect(bus.log.warnings).toContainEqual(expect.stringContaining('keeps it stopped'));
    await give(first, 'start');
    expect(bus.stateOf(first)).toBe('RUNNING');
  });

  it('adopts the pause of a tier', async () => {
    await bus.done(first.admin.command({ name: 'pause-tier', tier: 1 }, 'orders'));
    const second = await bus.process('second');
    await bus.runtime.advance(2_000);
    const { instances } = await bus.done(second.admin.instances());
    expect(instances.map(({ bindings }) => bindings[0]?.pausedTiers)).toEqual([[1], [1]]);
  });

  it('keeps what an operator commands to it alone', async () => {
    await give(first, 'pause');
    const second = await bus.process('second');
    await bus.done(second.admin.resume('orders'));
    await bus.runtime.advance(60_000);
    expect([bus.stateOf(first), bus.stateOf(second)]).toEqual(['PAUSED', 'RUNNING']);
  });

  it('adopts a pause again after its binding was stopped and started', async () => {
    await give(first, 'pause');
    await bus.done(first.admin.stop('orders'));
    await bus.done(first.admin.start('orders'));
    await bus.runtime.advance(2_000);
    expect(bus.stateOf(first)).toBe('PAUSED');
  });

  it('lets nobody pause what the fleet was told to stop', async () => {
    await give(first, 'stop');
    expect(await errorOf(give(first, 'pause'))).toMatchObject({
      code: 'FLEET_ORDER_IN_FORCE',
      message: expect.stringMatching(/stopped by ann at .* Start it first/) as string,
    });
  });

  it('resumes nothing if the control topic is deleted and created again', async () => {
    await give(first, 'pause');
    await bus.done(bus.outside.admin().deleteTopics(['control']));
    await bus.topic('control');
    await bus.done(
      bus.outside.admin().alterTopicConfig('control', { 'cleanup.policy': 'compact' }),
    );
    await bus.runtime.advance(30_000);
    expect(bus.stateOf(first)).toBe('PAUSED');
    expect(bus.log.warnings).toContainEqual(expect.stringContaining('created again'));
    await give(first, 'resume');
    expect(bus.stateOf(first)).toBe('RUNNING');
  });
});

describe('The instances of a fleet', () => {
  let bus: FleetTestBus;

  beforeEach(async () => {
    bus = await FleetTestBus.create();
  });

  afterEach(() => bus.end());

  it('tell their assignments, pauses, lag and version', async () => {
    const a = await bus.process('a', { version: '1.4.0' });
    const b = await bus.process('b', { version: '1.5.0' });
    await bus.runtime.advance(60_000);
    await bus.done(a.admin.command({ name: 'pause' }, 'orders', { by: 'ann', reason: 'why' }));
    await bus.write('orders', '1', '2');
    await bus.runtime.advance(30_000);
    const { instances, orders, scope } = await bus.done(b.admin.instances());
    expect(scope).toBe('fleet');
    expect(instances.map(({ name, version, isSilent }) => [name, version, isSilent])).toEqual([
      ['b', '1.5.0', false],
      ['a', '1.4.0', false],
    ]);
    const bindings = instances.map((each) => each.bindings[0]!);
    const assigned = bindings.flatMap(({ assignment }) =>
      assignment.filter(({ topic }) => topic === 'orders').flatMap(({ partitions }) => partitions),
    );
    expect(assigned.toSorted((one, other) => one - other)).toEqual([0, 1, 2]);
    expect(bindings.map(({ pauses, state }) => [state, pauses])).toEqual([
      ['PAUSED', ['operator']],
      ['PAUSED', ['operator']],
    ]);
    expect(bindings.reduce((sum, { lag }) => sum + (lag ?? 0), 0)).toBe(2);
    expect(orders).toMatchObject([
      { order: 'paused', by: 'ann', reason: 'why', binding: { name: 'orders', groupId: 'shop' } },
    ]);
  });

  it('lose one that closes, and show one that is silent until it is forgotten', async () => {
    const a = await bus.process('a', { reportIntervalMs: 1_000 });
    const b = await bus.process('b', { reportIntervalMs: 1_000 });
    await bus.process('frozen', { reportIntervalMs: 1_000, pollIntervalMs: 86_400_000 });
    const names = async () =>
      (await bus.done(a.admin.instances())).instances.map(
        ({ name, isSilent }) => `${name}${isSilent ? ' is silent' : ''}`,
      );
    await bus.runtime.advance(2_000);
    await bus.done(b.application.close());
    await bus.runtime.advance(8_000);
    expect(await names()).toEqual(['a', 'frozen is silent']);
    await bus.runtime.advance(12 * 60_000);
    expect(await names()).toEqual(['a']);
  });

  it('are told apart: a name that is used twice is an error in the log', async () => {
    await bus.process('a');
    await bus.process('a');
    await bus.runtime.advance(30_000);
    expect(bus.log.everything.join()).toContain("Another process has the name 'a' in the fleet");
  });

  it('leave nothing in the topic but the orders in force and themselves', async () => {
    const a = await bus.process('a');
    for (let round = 0; round < 3; round++)
      for (const name of ['pause', 'resume', 'pause'] as const)
        await bus.done(a.admin.command({ name }, 'orders'));
    await bus.runtime.advance(10 * 60_000);
    const last = new Map<string, boolean>();
    for (const { key, value } of await bus.records('control'))
      last.set(String(key), value !== null);
    const kept = [...last].filter(([, isThere]) => isThere).map(([key]) => key.split('/')[0]);
    expect(new Set(kept)).toEqual(new Set(['instance', 'order']));
    expect(kept).toHaveLength(2);
  });

  it('write no answer to a command that was deleted meanwhile', async () => {
    const a = await bus.process('a');
    await bus.process('away', { pollIntervalMs: 300_000, reportIntervalMs: 600_000 });
    await bus.done(a.admin.command({ name: 'pause' }, 'orders', { waitMs: 1_000, validMs: 1_000 }));
    await bus.runtime.advance(6 * 60_000);
    expect(bus.log.warnings).toContainEqual(expect.stringContaining('came too late'));
    const answers = (await bus.records('control')).filter(({ key }) =>
      /^answer.*away$/.test(String(key)),
    );
    expect(answers).toEqual([]);
  });
});

describe('A control topic that cannot be used', () => {
  let bus: FleetTestBus;

  beforeEach(async () => {
    bus = await FleetTestBus.create();
  });

  afterEach(() => bus.end());

  it('refuses commands to the fleet, and lets those to the process through', async () => {
    const a = await bus.process('a', { provisioning: 'verify' });
    const refused = await errorOf(bus.done(a.admin.command({ name: 'pause' }, 'orders')));
    expect(refused).toMatchObject({ code: 'FLEET_UNAVAILABLE' });
    expect((refused as Error).message).toContain("scope 'process'");
    expect(bus.stateOf(a)).toBe('RUNNING');
    await bus.done(a.admin.command({ name: 'pause' }, 'orders', { scope: 'process' }));
    expect(bus.stateOf(a)).toBe('PAUSED');
    expect(bus.log.warnings).toContainEqual(expect.stringContaining("'control' cannot be used"));
    await bus.topic('control');
    await bus.done(
      bus.outside.admin().alterTopicConfig('control', { 'cleanup.policy': 'compact' }),
    );
    await bus.runtime.advance(5_000);
    const { fleet } = await bus.done(a.admin.command({ name: 'resume' }, 'orders'));
    expect(fleet).toMatchObject({ isComplete: true });
  });

  it('does not hold up a shutdown, and a command to it says what may have happened', async () => {
    const a = await bus.process('a', { reportIntervalMs: 1_000 });
    bus.broker.faults.loseAnswers({ operation: 'produce', topic: 'control' });
    const error = await errorOf(bus.done(a.admin.command({ name: 'pause' }, 'orders')));
    expect((error as Error).message).toMatch(
      /may have been written, and may be obeyed until .* stays in force until a resume or start/,
    );
    await bus.runtime.advance(2_000);
    const before = bus.runtime.monotonic();
    await bus.done(a.application.close());
    expect(bus.runtime.monotonic() - before).toBeLessThan(20_000);
  });

  it('is refused if it deletes its entries', async () => {
    await bus.topic('control');
    const a = await bus.process('a');
    expect(await errorOf(bus.done(a.admin.command({ name: 'pause' }, 'orders')))).toMatchObject({
      code: 'FLEET_UNAVAILABLE',
    });
    expect(bus.log.everything.join()).toContain('cleanup.policy=delete');
  });

  it('says nothing about what others have written into it', async () => {
    const a = await bus.process('a');
    await bus.write(
      'control',
      { key: 'command/x', value: 'no JSON' },
      { key: 'command/y', value: '{"v":9,"kind":"command"}' },
      { key: 'command/z', value: '{"v":1,"kind":"command","at":1}' },
      { key: null, value: 'x' },
    );
    const { fleet } = await bus.done(a.admin.command({ name: 'pause' }, 'orders'));
    expect(fleet).toMatchObject({ isComplete: true });
  });
});
