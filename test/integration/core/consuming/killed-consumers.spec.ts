import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../../support/index.js';
import {
  expectWithinBounds,
  KilledConsumer,
  type KilledMode,
  printKills,
} from '../support/killed-consumer.js';

/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`A consumer that is killed, seed ${seed}`, ({ brokers }) => {
  it.each<KilledMode>(['MANUAL', 'MANUAL_IMMEDIATE', 'BATCH', 'by key'])(
    'loses no record, and repeats none that an acknowledged commit contains: %s',
    async (mode) => {
      const report = await new KilledConsumer({
        brokers,
        mode,
        random: new SeededRandom(seed),
        records: 4_800,
        kills: 2,
      }).run();
      process.stderr.write(`${printKills(report)}\n`);
      expectWithinBounds(report);
    },
    180_000,
  );
});
