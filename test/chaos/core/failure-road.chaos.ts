import { realRuntime } from '@nest-event-bus/broker/runtime';
import { expectNoneLost, KilledOrders } from '../../integration/core/killed-orders.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { SeededRandom } from '../broker/support/seeded-random.js';

const smoke = process.env['CHAOS_SMOKE'] === '1';
const LONGEST_MS = 400_000;

/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`the failure road under kill -9, seed ${seed}`, ({ brokers }) => {
  it(
    'brings each record that fails to its dead-letter topic, wherever its process is killed',
    async () => {
      const report = await new KilledOrders({
        brokers,
        random: new SeededRandom(seed),
        ...(smoke ? { records: 18, kills: 3 } : { records: 1_000, kills: 30 }),
        mostQuietMs: smoke ? 300 : 2_000,
      }).run();
      const { written, kills, calls, letters } = report;
      const twice = letters.length - written;
      process.stderr.write(
        `${written} records through ${kills} kills: ${calls} calls, ${twice} dead-lettered again\n`,
      );
      expectNoneLost(report);
    },
    LONGEST_MS,
  );
});
