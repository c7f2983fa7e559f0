import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../support/index.js';
import { expectExactlyOnce, KilledTransactions } from './killed-transactions.js';

/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`transactions of processes that are killed, seed ${seed}`, ({ brokers }) => {
  it('give exactly one output for each input, to whoever reads what is committed', async () => {
    const random = new SeededRandom(seed);
    const orders = new KilledTransactions({ brokers, random, records: 5_400, kills: 6 });
    const report = await orders.run();
    process.stderr.write(
      `transactions: 6 kills, committed by then: ${report.interrupted.join(', ')}\n`,
    );
    expectExactlyOnce(report);
  }, 180_000);
});
