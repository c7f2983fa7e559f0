import type { DrainReport } from '../../consuming/session/consuming-session.js';
import { binding, busWith, processor, tier } from '../bus-test-bed.spec-support.js';
import { DRAINED, noDriver, type SessionScript } from '../fake-sessions.spec-support.js';

type Bus = ReturnType<typeof busWith>;
const never = (): Promise<never> => new Promise<never>(() => {});
const left = { topic: 'orders.events', partition: 0, offset: 31 };

async function running(scripts: Record<string, SessionScript> = {}): Promise<Bus> {
  const bus = busWith();
  for (const [id, script] of Object.entries(scripts)) bus.sessions.scripts.set(id, script);
  bus.add(binding('orders', { tiers: [tier(1)] }));
  bus.add(binding('payments'));
  await bus.lifecycle.start('orders');
  await bus.lifecycle.start('payments');
  await bus.runtime.settle();
  return bus;
}

/**
 * Returns the script of a session whose handler takes this time, and whose close ends at the given
 * deadline.
 */
function busyFor(bus: () => Bus, handlerMs: number): SessionScript {
  return {
    close: (timeoutMs) =>
      new Promise<DrainReport>((resolve) =>
        bus().runtime.setTimer(
          () => resolve(handlerMs <= timeoutMs ? DRAINED : { complete: false, abandoned: [left] }),
          Math.min(handlerMs, timeoutMs),
        ),
      ),
  };
}

describe('shutting down the event bus', () => {
  it('closes every container once, and unregisters every binding', async () => {
    const bus = await running();
    const report = await bus.shutdown.drain();
    for (const { calls } of bus.sessions.all) expect(calls).toEqual(['start', 'close 30000']);
    expect(bus.sessions.open).toEqual([]);
    expect(bus.registry.listAll()).toEqual([]);
    expect(report).toMatchObject({ complete: true });
    expect(report.bindings).toHaveLength(2);
    expect(bus.runtime.pendingTimers).toBe(0);
  });

  it('runs once, however often it is called', async () => {
    const bus = await running();
    const [first, second] = [bus.shutdown.drain(), bus.shutdown.drain()];
    expect(await first).toBe(await second);
    expect(await bus.shutdown.drain()).toBe(await first);
  });

  it('rejects new bindings and starts as soon as it begins', async () => {
    const bus = await running();
    bus.add(binding('idle'));
    const done = bus.shutdown.drain();
    const [registered, started] = await Promise.allSettled([
      bus.connector.register('late', { topic: 'late', groupId: 'late' }, () => undefined),
      bus.lifecycle.start('idle'),
    ]);
    expect(registered).toMatchObject({
      reason: {
        message: expect.stringMatching(
          /^Cannot register binding 'late': the event bus is shutting down\./,
        ),
      },
    });
    expect(started).toMatchObject({ reason: { code: 'EVENT_BUS_SHUTTING_DOWN' } });
    await done;
    expect(bus.sessions.open).toEqual([]);
  });

  it('gives all handlers 30 s together: one of 29 s finishes, one of 31 s is abandoned', async () => {
    const bus: Bus = await running({
      'eventbus-orders-0': busyFor(() => bus, 31_000),
      'eventbus-payments-0': busyFor(() => bus, 29_000),
    });
    const began = bus.runtime.monotonic();
    const draining = bus.shutdown.drain();
    await bus.runtime.advance(60_000);
    const report = await draining;
    expect(report.bindings).toMatchObject([
      { binding: 'orders', complete: false, abandoned: [left] },
      { binding: 'payments', complete: true, abandoned: [] },
    ]);
    expect(report.complete).toBe(false);
    expect(report.durationMs).toBe(30_000);
    expect(bus.runtime.monotonic() - began).toBe(60_000);
  });

  describe('with alerts that still run', () => {
    const drainedWith = async (alertsMs: number) => {
      const bus = busWith();
      let count = 1;
      const whenEnded = (): Promise<void> =>
        new Promise((resolve) =>
          bus.runtime.setTimer(() => {
            count = 0;
            resolve();
          }, alertsMs),
        );
      const alerts = {
        get count() {
          return count;
        },
        whenEnded,
      };
      bus.registry.register(
        bus.factory.create(binding('orders'), {
          driver: noDriver,
          processor,
          tiers: 'omit',
          alerts,
        }),
      );
      await bus.lifecycle.start('orders');
      await bus.runtime.settle();
      const draining = bus.shutdown.drain();
      await bus.runtime.advance(60_000);
      const { runtime, sessions } = bus;
      expect([sessions.open, runtime.pendingTimers]).toEqual([[], alertsMs > 60_000 ? 1 : 0]);
      return draining;
    };

    it('waits for the alerts', async () => {
      expect(await drainedWith(8_000)).toMatchObject({ complete: true, durationMs: 8_000 });
    });

    it('waits for alerts no longer than the drain timeout of the handlers', async () => {
      const { complete, durationMs, bindings } = await drainedWith(90_000);
      expect([complete, durationMs]).toEqual([false, 30_000]);
      expect(bindings[0]).toMatchObject({ complete: true, abandoned: [] });
      expect(bindings[0]?.errors).toMatchObject([
        { message: expect.stringContaining('did not end its alerts within 30000 ms') },
      ]);
    });
  });

  it('ends within a limited time even if nothing answers, and closes what it can', async () => {
    const bus = await running({
      'eventbus-orders-0': { pause: never, close: never },
    });
    const draining = bus.shutdown.drain();
    await bus.runtime.advance(60_000);
    const report = await draining;
    expect(report.durationMs).toBeLessThanOrEqual(46_000);
    const [orders, payments] = report.bindings;
    expect(orders?.errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('did not close'),
    ]);
    expect(payments).toMatchObject({ complete: true, errors: [] });
    expect(bus.registry.listAll()).toEqual([]);
  });

  it('waits 15 s at the longest for a command that never ends', async () => {
    const bus = await running();
    jest.spyOn(bus.lifecycle, 'destroy').mockImplementation(never);
    const draining = bus.shutdown.drain();
    await bus.runtime.advance(15_000);
    const { complete, bindings } = await draining;
    expect([complete, bindings[0]?.errors.length]).toEqual([false, 1]);
  });

  it('closes everything even if something fails, and reports the errors instead of throwing', async () => {
    const bus = await running({
      'eventbus-orders-0': { close: () => Promise.reject(new Error('leave refused')) },
    });
    const report = await bus.shutdown.drain();
    expect(report.complete).toBe(false);
    expect(report.bindings[0]?.errors).toMatchObject([{ message: 'leave refused' }]);
    expect(bus.sessions.all.every(({ calls }) => calls.includes('close 30000'))).toBe(true);
    expect(bus.logger.lines.map(({ level }) => level)).toEqual(['warn']);
  });

  it('includes bindings that are being stopped or destroyed, or were never started', async () => {
    const bus = await running();
    bus.add(binding('idle'));
    const stopping = bus.lifecycle.stop('orders');
    const destroying = bus.lifecycle.destroy('payments');
    const report = await bus.shutdown.drain();
    await Promise.all([stopping, destroying]);
    expect(report.complete).toBe(true);
    expect([bus.registry.listAll(), bus.sessions.open]).toEqual([[], []]);
  });

  it('succeeds on a bus without bindings', async () => {
    await expect(busWith().shutdown.drain()).resolves.toMatchObject({
      complete: true,
      bindings: [],
    });
  });
});
