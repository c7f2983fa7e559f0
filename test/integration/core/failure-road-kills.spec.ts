import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../support/index.js';
import { expectNoneLost, KilledOrders } from './killed-orders.js';

/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`records that fail in processes that are killed, seed ${seed}`, ({ brokers }) => {
  it('are all dead-lettered in the end, with counters that fit their trail, and committed everywhere', async () => {
    const random = new SeededRandom(seed);
    const orders = new KilledOrders({ brokers, random, records: 64, kills: 8, mostQuietMs: 400 });
    expectNoneLost(await orders.run());
  }, 180_000);
});
