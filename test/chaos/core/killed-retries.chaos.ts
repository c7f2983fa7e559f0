import { expectNoneLost, KilledOrders } from '../../integration/core/support/killed-orders.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { newRandom, seed, sizeOf } from './chaos-run.js';

const LONGEST_MS = 900_000;

/** CHAOS_RECORDS, CHAOS_KILLS and CHAOS_SESSION_MS choose other sizes. */
const settings = {
  records: sizeOf('RECORDS', { full: 1_000, smoke: 18 }),
  kills: sizeOf('KILLS', { full: 30, smoke: 3 }),
  longestPauseMs: sizeOf('QUIET_MS', { full: 2_000, smoke: 300 }),
  sessionTimeoutMs: sizeOf('SESSION_MS', { full: 1_500, smoke: 1_500 }),
};

describeWithKafka(`Failing records under kill -9, seed ${seed}`, ({ brokers }) => {
  it(
    'reach their dead-letter topic, whenever their process is killed',
    async () => {
      const report = await new KilledOrders({ brokers, random: newRandom(), ...settings }).run();
      const { written, kills, calls, letters } = report;
      const repeated = letters.length - written;
      process.stderr.write(
        `${written} records through ${kills} kills: ${calls} calls, ${repeated} dead-lettered again\n`,
      );
      expectNoneLost(report);
    },
    LONGEST_MS,
  );
});
