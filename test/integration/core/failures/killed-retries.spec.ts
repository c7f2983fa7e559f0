import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../../support/index.js';
import { expectNoneLost, KilledOrders } from '../support/killed-orders.js';

/** The variable CHAOS_SEED repeats a run with the same random numbers. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`Failing records in processes that are killed, seed ${seed}`, ({ brokers }) => {
  it('are dead-lettered with consistent counters, and their offsets are committed in every topic', async () => {
    const random = new SeededRandom(seed);
    const orders = new KilledOrders({
      brokers,
      random,
      records: 64,
      kills: 8,
      longestPauseMs: 400,
    });
    expectNoneLost(await orders.run());
  }, 600_000);
});
