import { realRuntime } from '@nest-event-bus/broker/runtime';
import { SeededRandom } from '../../../chaos/broker/support/seeded-random.js';
import { describeWithKafka } from '../../support/index.js';
import { expectNoViolation, RebalanceStorm, printStorm } from '../support/rebalance-storm.js';

/** CHAOS_SEED repeats a run. */
const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(realRuntime.random() * 2 ** 31));

describeWithKafka(`Members that join and leave constantly, seed ${seed}`, ({ brokers }) => {
  it.each([
    ['sticky', { assignmentStrategy: 'sticky' }],
    ['cooperative-sticky, the default', {}],
  ] as const)(
    'lose no record, keep the order of each key, and let every partition progress: %s',
    async (name, shape) => {
      const report = await new RebalanceStorm({
        brokers,
        by: 'key',
        lastsMs: 6_000,
        everyMs: 1_000,
        random: new SeededRandom(seed),
        ...shape,
      }).run();
      process.stderr.write(`${printStorm(name, report)}\n`);
      expectNoViolation(report);
    },
    360_000,
  );
});
