import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../../support/index.js';
import { expectNoneLost, KilledOrders } from '../support/killed-orders.js';

/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`Failing records in processes that are killed, seed ${seed}`, ({ brokers }) => {
  it('are all dead-lettered with consistent counters, and committed in every topic', async () => {
    const random = new SeededRandom(seed);
    const orders = new KilledOrders({
      brokers,
      random,
      records: 64,
      kills: 8,
      longestPauseMs: 400,
    });
    expectNoneLost(await orders.run());
  }, 180_000);
});
