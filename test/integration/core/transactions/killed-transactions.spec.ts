import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../../support/index.js';
import { expectExactlyOnce, KilledTransactions } from '../support/killed-transactions.js';

/** The variable CHAOS_SEED repeats a run with the same random numbers. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`Transactions of processes that are killed, seed ${seed}`, ({ brokers }) => {
  it('give a read_committed consumer exactly one output per input', async () => {
    const random = new SeededRandom(seed);
    const orders = new KilledTransactions({ brokers, random, records: 5_400, kills: 6 });
    const report = await orders.run();
    process.stderr.write(
      `transactions: 6 kills, committed by then: ${report.interrupted.join(', ')}\n`,
    );
    expectExactlyOnce(report);
  }, 600_000);
});
