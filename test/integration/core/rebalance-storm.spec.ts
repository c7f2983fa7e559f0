import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../support/index.js';
import { expectPromisesKept, RebalanceStorm, tellStorm } from './rebalance-storm.js';

/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`members that come and go, seed ${seed}`, ({ brokers }) => {
  it.each([
    ['sticky', { assignmentStrategy: 'sticky' }],
    ['cooperative-sticky, as by default', {}],
  ] as const)(
    'by %s: lose nothing, keep the order of each key, and freeze no partition',
    async (name, shape) => {
      const report = await new RebalanceStorm({
        brokers,
        by: 'key',
        lastsMs: 6_000,
        everyMs: 1_000,
        random: new SeededRandom(seed),
        ...shape,
      }).run();
      process.stderr.write(`${tellStorm(name, report)}\n`);
      expectPromisesKept(report);
    },
    360_000,
  );
});
