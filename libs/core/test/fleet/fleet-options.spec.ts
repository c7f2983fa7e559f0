import { errorOf } from '../support/test-bus.spec-support.js';
import { FleetTestBus } from './fleet-test-bus.spec-support.js';

describe('The options of the fleet', () => {
  let bus: FleetTestBus;

  beforeEach(async () => {
    bus = await FleetTestBus.create();
  });

  afterEach(() => bus.end());

  it('name the control topic, and create it compacted with one partition', async () => {
    await bus.process('a', { controlTopic: 'commands' });
    const admin = bus.outside.admin();
    const [topic] = await bus.done(admin.topics(['commands']));
    expect(topic?.partitions).toHaveLength(1);
    expect(await bus.done(admin.topicConfig('commands'))).toMatchObject({
      'cleanup.policy': 'compact',
    });
  });

  it("create no topic with provisioning 'verify', which is the default", async () => {
    await bus.process('a', { provisioning: undefined });
    expect(await bus.topicNames()).not.toContain('control');
    expect(bus.log.warnings).toContainEqual(expect.stringContaining("'control' cannot be used"));
  });

  it('name the instance and its version', async () => {
    const named = await bus.process('a', { instance: 'orders-0', version: '2.1.0' });
    const unnamed = await bus.process('b', { instance: undefined });
    await bus.runtime.advance(2_000);
    const { instances } = await bus.done(unnamed.admin.instances());
    expect(instances.map(({ name, version }) => [name, version])).toEqual([
      [expect.stringMatching(/^.+-[0-9a-f]{8}$/), ''],
      ['orders-0', '2.1.0'],
    ]);
    const { fleet } = await bus.done(named.admin.command({ name: 'pause' }, 'orders'));
    expect(fleet?.instances.map(({ instance }) => instance)).toContain('orders-0');
  });

  it('set how soon a command is obeyed', async () => {
    const fast = await bus.process('fast', { pollIntervalMs: 100 });
    const slow = await bus.process('slow', { pollIntervalMs: '20 s' });
    await bus.runtime.advance(2_000);
    const { fleet } = await bus.done(
      fast.admin.command({ name: 'pause' }, 'orders', { waitMs: 60_000 }),
    );
    const took = fleet?.instances.map(({ tookMs }) => tookMs ?? 0) ?? [];
    expect(took[0]).toBeLessThan(1_000);
    expect(took[1]).toBeGreaterThan(5_000);
    expect(bus.stateOf(slow)).toBe('PAUSED');
  });

  it('set how often an instance reports', async () => {
    await bus.process('a', { reportIntervalMs: '5s' });
    await bus.runtime.advance(5_000);
    const before = (await bus.records('control')).length;
    await bus.runtime.advance(60_000);
    const reports = (await bus.records('control')).length - before;
    expect([reports >= 10, reports <= 14]).toEqual([true, true]);
  });

  it.each([
    [{ controlTopic: 'no/topic' }, 'fleet.controlTopic'],
    [{ cluster: 'nowhere' }, 'fleet.cluster'],
    [{ pollIntervalMs: 1 }, 'fleet.pollIntervalMs'],
    [{ reportIntervalMs: '10ms' }, 'fleet.reportIntervalMs'],
    [{ instance: '' }, 'fleet.instance'],
  ])('are checked at the start: %j', async (fleet, path) => {
    const error = await errorOf(bus.process('a', fleet as object));
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect((error as Error).message).toContain(path);
  });
});

describe('The cluster of the control topic', () => {
  it('is the one that the options name', async () => {
    const [orders, control] = [await FleetTestBus.create(), new FleetTestBus()];
    const a = await orders.process(
      'a',
      { cluster: 'control' },
      { clusters: { control: { driver: control.outside } } },
    );
    await control.runtime.advance(1_000);
    expect([await orders.topicNames(), await control.topicNames()]).toEqual([
      expect.not.arrayContaining(['control']),
      ['control'],
    ]);
    expect(a.name).toBe('a');
    await orders.end();
  });
});
