import { binding, busWith, tier } from '../bus-test-bed.spec-support.js';
import { healthOf } from '../health/event-bus-health.js';

type Bus = ReturnType<typeof busWith>;

describe('the pauses of a binding', () => {
  async function running(): Promise<Bus> {
    const bus = busWith();
    bus.add(binding('orders', { tiers: [tier(1)] }));
    await bus.lifecycle.start('orders');
    return bus;
  }
  const held = ({ sessions }: Bus) => sessions.open.map(({ pauses }) => [...pauses]);

  it('are a set: resume() removes operator and routing, and returns that circuit remains', async () => {
    const bus = await running();
    await bus.lifecycle.addPause('orders', 'circuit');
    await bus.lifecycle.addPause('orders', 'routing');
    await bus.lifecycle.addPause('orders', 'operator');
    expect(await bus.lifecycle.resume('orders')).toMatchObject({
      state: 'PAUSED',
      remainingPauses: ['circuit'],
    });
    expect(held(bus)).toEqual([['circuit'], ['circuit']]);
    expect(await bus.lifecycle.removePause('orders', 'circuit')).toMatchObject({
      state: 'RUNNING',
      remainingPauses: [],
    });
    expect(held(bus)).toEqual([[], []]);
  });

  it('are independent: a circuit that closes does not end the pause of an operator', async () => {
    const bus = await running();
    await bus.lifecycle.pause('orders');
    await bus.lifecycle.addPause('orders', 'circuit');
    expect(await bus.lifecycle.removePause('orders', 'circuit')).toMatchObject({
      state: 'PAUSED',
      remainingPauses: ['operator'],
    });
    expect(held(bus)).toEqual([['operator'], ['operator']]);
  });

  it.each(['circuit', 'routing'] as const)(
    'include the pause of an operator in addition to %s, but not a second one of an operator',
    async (earlier) => {
      const bus = await running();
      await bus.lifecycle.addPause('orders', earlier);
      expect(await bus.lifecycle.pause('orders', { by: 'ada' })).toMatchObject({
        state: 'PAUSED',
        remainingPauses: [earlier, 'operator'],
        lastCommand: { operation: 'pause', by: 'ada' },
      });
      expect(held(bus)).toEqual([
        [earlier, 'operator'],
        [earlier, 'operator'],
      ]);
      await expect(bus.lifecycle.pause('orders')).rejects.toThrow(
        "Cannot pause binding 'orders': current state is PAUSED, pause requires RUNNING",
      );
      expect(await bus.lifecycle.removePause('orders', earlier)).toMatchObject({
        state: 'PAUSED',
        remainingPauses: ['operator'],
      });
    },
  );

  it('can be set for one tier only', async () => {
    const bus = busWith();
    bus.add(binding('orders', { tiers: [tier(1), tier(2)] }));
    await bus.lifecycle.start('orders');
    expect(await bus.lifecycle.pauseTier('orders', 2, { by: 'ada' })).toMatchObject({
      state: 'RUNNING',
      remainingPauses: [],
      lastCommand: { operation: 'pause', reason: 'tier 2', by: 'ada' },
    });
    expect(held(bus)).toEqual([[], [], ['tier']]);
    await bus.lifecycle.pause('orders');
    await bus.lifecycle.resume('orders');
    expect(held(bus)).toEqual([[], [], ['tier']]);
    expect(healthOf(bus.registry.listAll(), false, 0).bindings).toMatchObject([
      { status: 'DEGRADED', reasons: ['eventbus-orders-retry-2 is paused'] },
    ]);
    await bus.lifecycle.resumeTier('orders', 2);
    expect(held(bus)).toEqual([[], [], []]);
  });

  it('are rejected for an unknown tier, and while the binding does not run', async () => {
    const bus = await running();
    await expect(bus.lifecycle.pauseTier('orders', 2)).rejects.toMatchObject({
      code: 'TIER_NOT_FOUND',
      message: "Binding 'orders' has no retry tier 2. It has: 1. Name one of them.",
    });
    await bus.lifecycle.stop('orders');
    await expect(bus.lifecycle.pauseTier('orders', 1)).rejects.toThrow(
      "Cannot pause binding 'orders': current state is STOPPED, pause requires RUNNING or PAUSED",
    );
  });

  it('change nothing when they are added twice, or removed twice', async () => {
    const bus = await running();
    await bus.lifecycle.addPause('orders', 'circuit');
    const before = bus.registry.require('orders');
    await bus.lifecycle.addPause('orders', 'circuit');
    expect(bus.registry.require('orders')).toBe(before);
    await bus.lifecycle.removePause('orders', 'circuit');
    await bus.lifecycle.removePause('orders', 'circuit');
    expect(bus.registry.require('orders').state).toBe('RUNNING');
  });

  it('end when the binding is stopped, and cannot be added to a stopped binding', async () => {
    const bus = await running();
    await bus.lifecycle.addPause('orders', 'circuit', { by: 'breaker' });
    expect(bus.registry.require('orders').lastCommand).toMatchObject({
      operation: 'pause',
      reason: 'circuit',
      by: 'breaker',
    });
    await bus.lifecycle.stop('orders');
    await expect(bus.lifecycle.addPause('orders', 'circuit')).rejects.toThrow(
      "Cannot pause binding 'orders': current state is STOPPED, pause requires RUNNING or PAUSED",
    );
    await expect(bus.lifecycle.removePause('orders', 'circuit')).resolves.toMatchObject({
      state: 'STOPPED',
    });
    await expect(bus.lifecycle.start('orders')).resolves.toMatchObject({ state: 'RUNNING' });
  });
});
