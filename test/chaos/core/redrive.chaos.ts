import { describeWithCluster } from '../../integration/support/index.js';
import { RedrivenOrders } from '../../integration/core/support/redriven-orders.js';
import { sizeOf } from './chaos-run.js';

const LONGEST_MS = 900_000;
const PARTITIONS = 3;
const KILLS = 3;

/** The variables CHAOS_LETTERS and CHAOS_RATE choose other sizes. */
const settings = {
  letters: sizeOf('LETTERS', { full: 100_000, smoke: 5_000 }),
  rate: sizeOf('RATE', { full: 5_000, smoke: 500 }),
  dueAtOnce: sizeOf('DUE', { full: 500, smoke: 50 }),
};

describeWithCluster('A redrive whose nodes and broker are killed', {}, (cluster) => {
  it(
    'replays each letter exactly once, while scheduled replays run beside it',
    async () => {
      const { letters, rate, dueAtOnce } = settings;
      const orders = new RedrivenOrders(cluster().brokers, PARTITIONS);
      try {
        await orders.prepare(letters);
        const replay = await orders.replayService({ cooldownMs: 0, batchSize: dueAtOnce });
        const { id } = await replay.plan('orders', { all: true, by: 'chaos' });
        const progress = async (): Promise<number> => {
          const { selected, remaining } = await replay.status('orders', id);
          return selected - remaining;
        };
        const scheduled = orders.replayDueUntil(async () => (await progress()) === letters);
        const killedAt: number[] = [];
        let [first, second] = [orders.startNode(id, rate), orders.startNode(id, rate)];
        for (let kill = 1; kill <= KILLS; kill++) {
          const share = (kill * letters) / (KILLS + 2);
          await orders.until(
            `letters before kill ${kill}`,
            async () => (await progress()) >= share,
          );
          first.kill();
          await first.ended;
          killedAt.push(await progress());
          [first, second] = [second, orders.startNode(id, rate)];
        }
        const share = ((KILLS + 1) * letters) / (KILLS + 2);
        await orders.until('letters before the restart', async () => (await progress()) >= share);
        await cluster().restart(0);
        await orders.until('the end', async () => {
          const { state } = await replay.status('orders', id);
          return state === 'completed';
        });
        const due = await scheduled;
        const report = await replay.status('orders', id);
        const { byStatus } = await orders.stats().stats('orders');
        const seen = await orders.positionsSeenByJava();
        process.stderr.write(
          `${letters} letters, nodes killed at ${killedAt.join(', ')}, one restart of the broker: ` +
            `${report.replayed} replayed by the operation, ${due} by ${dueAtOnce} by the schedule, ` +
            `${seen.length} records with ${new Set(seen).size} positions seen by Kafka's own consumer\n`,
        );
        expect(new Set(seen).size).toBe(letters);
        expect(seen).toHaveLength(letters);
        expect(report).toMatchObject({ selected: letters, remaining: 0, failed: 0 });
        expect(report.skipped).toEqual(due > 0 ? { 'already-replayed': due } : {});
        expect(report.replayed + due).toBe(letters);
        expect(byStatus).toEqual({ open: 0, replayed: letters, 'permanently-failed': 0 });
      } finally {
        await orders.end();
      }
    },
    LONGEST_MS,
  );
});
