import {
  expectWithinBounds,
  KilledConsumer,
  type KilledMode,
  printKills,
} from '../../integration/core/support/killed-consumer.js';
import {
  expectExactlyOnce,
  KilledTransactions,
} from '../../integration/core/support/killed-transactions.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { newRandom, seed, sizeOf } from './chaos-run.js';

/** CHAOS_RECORDS and CHAOS_KILLS choose other sizes. */
const records = sizeOf('RECORDS', { full: 200_000, smoke: 4_800 });
const kills = sizeOf('KILLS', { full: 50, smoke: 2 });
const LONGEST_MS = 1_800_000;

describeWithKafka(`Consumers under kill -9, seed ${seed}`, ({ brokers }) => {
  it.each<KilledMode>(['MANUAL', 'MANUAL_IMMEDIATE', 'BATCH', 'by key'])(
    '%s: lose no record, and repeat none that an acknowledged commit contains',
    async (mode) => {
      const settings = { brokers, mode, records, kills };
      const report = await new KilledConsumer({ ...settings, random: newRandom() }).run();
      process.stderr.write(`${printKills(report)}\n`);
      expectWithinBounds(report);
    },
    LONGEST_MS,
  );

  it(
    'write exactly one output per input with transactions',
    async () => {
      const settings = { brokers, records, kills };
      const report = await new KilledTransactions({ ...settings, random: newRandom() }).run();
      const interrupted = report.interrupted.filter((count) => count % report.perKill !== 0).length;
      process.stderr.write(
        `transactions: ${report.written} records through ${kills} kills, ${interrupted} of them during a transaction: ${report.confirmed.map(({ length }) => length).join(' and ')} outputs\n`,
      );
      expectExactlyOnce(report);
    },
    LONGEST_MS,
  );
});
