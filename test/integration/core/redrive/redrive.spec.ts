import { realRuntime } from '@nest-event-bus/broker/runtime';
import { describeWithKafka } from '../../support/index.js';
import { RedrivenOrders } from '../support/redriven-orders.js';

describeWithKafka('A redrive on a real broker', ({ brokers }) => {
  let orders: RedrivenOrders;

  afterEach(() => orders.end());

  it('replays what its plan has frozen, and lists what became of it', async () => {
    orders = new RedrivenOrders(brokers, 2);
    await orders.prepare(1_000);
    const replay = await orders.replayService();
    const where = { exceptionClass: 'OutOfStock' };
    const plan = await replay.plan('orders', { where, by: 'ann', reason: 'stock is back' });
    expect(plan).toMatchObject({ selected: 500, groupCount: 1 });
    await orders.write(1_000, 100);
    const report = await replay.run('orders', plan.id);
    expect(report).toMatchObject({ state: 'completed', selected: 500, replayed: 500 });
    const even = Array.from({ length: 500 }, (_, index) => index * 2);
    expect(await orders.valuesSeenByJava()).toEqual(even);
    const { letters } = await replay.list('orders', { limit: 1_000, status: 'open' });
    expect(letters).toHaveLength(600);
    const again = await replay.plan('orders', { where });
    expect(again).toMatchObject({ selected: 50, skipped: { 'already-replayed': 500 } });
  }, 180_000);

  it('leaves out what an operator has given up, and purges it', async () => {
    orders = new RedrivenOrders(brokers, 2);
    await orders.prepare(1_000);
    const replay = await orders.replayService();
    const note = { by: 'ann', reason: 'these orders were refunded' };
    const given = { where: { originalOffset: { to: 1_000_100 } } };
    expect(await replay.markPermanentlyFailed('orders', given, note)).toEqual({
      changed: 100,
      unchanged: 0,
    });
    const { groups } = await replay.plan('orders', { all: true });
    const where = { group: groups[0]!.id };
    const report = await replay.replay('orders', { where });
    expect(report).toMatchObject({ selected: 450, replayed: 450 });
    const stats = orders.stats();
    expect(await stats.stats('orders')).toMatchObject({
      count: 1_000,
      byStatus: { open: 450, replayed: 450, 'permanently-failed': 100 },
    });
    // A plan that selects nothing purges only what is decided already.
    const nothing = await replay.plan('orders', { where: { key: 'no such order' } });
    const purged = await replay.purge('orders', { plan: nothing.id, by: 'bob' });
    expect(purged.deleted).toBeGreaterThanOrEqual(100);
    const left = await stats.stats('orders');
    expect(left.count).toBe(1_000 - purged.deleted);
    expect(left.byStatus.open).toBe(450);
    expect(await replay.actions('orders')).toMatchObject([
      { action: 'purge', by: 'bob', result: { deleted: purged.deleted } },
      { action: 'mark-permanently-failed', by: 'ann', result: { changed: 100 } },
    ]);
  }, 180_000);

  it('is never faster than its rate by more than five percent', async () => {
    orders = new RedrivenOrders(brokers, 2);
    await orders.prepare(600);
    const replay = await orders.replayService();
    const { id } = await replay.plan('orders', { all: true });
    const before = realRuntime.monotonic();
    expect(await replay.run('orders', id, { rate: 100 })).toMatchObject({ replayed: 600 });
    const perSecond = 600 / ((realRuntime.monotonic() - before) / 1_000);
    process.stderr.write(`redrive: ${perSecond.toFixed(1)} letters per second with rate 100\n`);
    // How slow a loaded machine may be is shown, and only virtual time tests it.
    expect(perSecond).toBeLessThan(105);
  }, 120_000);

  it('replays each letter exactly once on two nodes of which some are killed', async () => {
    orders = new RedrivenOrders(brokers, 3);
    const letters = 12_000;
    await orders.prepare(letters);
    const replay = await orders.replayService();
    const { id } = await replay.plan('orders', { all: true });
    const rate = 1_500;
    const interrupted: number[] = [];
    let [first, second] = [orders.startNode(id, rate), orders.startNode(id, rate)];
    for (let kill = 1; kill <= 3; kill++) {
      await orders.until(`a fifth of the letters before kill ${kill}`, async () => {
        return (await replay.status('orders', id)).replayed >= (kill * letters) / 5;
      });
      first.kill();
      await first.ended;
      interrupted.push((await replay.status('orders', id)).replayed);
      [first, second] = [second, orders.startNode(id, rate)];
    }
    await orders.until('the end of the operation', async () => {
      return (await replay.status('orders', id)).state === 'completed';
    });
    const report = await replay.status('orders', id);
    expect(report).toMatchObject({ selected: letters, replayed: letters, remaining: 0, failed: 0 });
    expect(await orders.valuesSeenByJava()).toEqual(
      Array.from({ length: letters }, (_, index) => index),
    );
    process.stderr.write(`redrive: replayed when nodes were killed: ${interrupted.join(', ')}\n`);
    // A kill proves nothing unless letters were left.
    expect(interrupted.some((replayed) => replayed > 0 && replayed < letters)).toBe(true);
  }, 240_000);
});
