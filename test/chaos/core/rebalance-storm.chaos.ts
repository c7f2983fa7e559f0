import {
  expectNoViolation,
  RebalanceStorm,
  printStorm,
} from '../../integration/core/support/rebalance-storm.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { newRandom, seed, sizeOf } from './chaos-run.js';

/** CHAOS_STORM_MS and CHAOS_EVERY_MS choose other sizes. */
const lastsMs = sizeOf('STORM_MS', { full: 300_000, smoke: 5_000 });
const everyMs = sizeOf('EVERY_MS', { full: 2_000, smoke: 1_000 });

describeWithKafka(`A storm of rebalances, seed ${seed}`, ({ brokers }) => {
  it.each([
    ['range', { assignmentStrategy: 'range', by: 'partition' }],
    ['sticky', { assignmentStrategy: 'sticky', by: 'key' }],
    ['cooperative-sticky, the default', { by: 'key' }],
    ['cooperative-sticky, slice by slice', { by: 'slice' }],
  ] as const)(
    'loses no record, keeps the order of each key, and lets every partition progress: %s',
    async (name, shape) => {
      const settings = { brokers, lastsMs, everyMs, ...shape };
      const report = await new RebalanceStorm({ ...settings, random: newRandom() }).run();
      process.stderr.write(`${printStorm(name, report)}\n`);
      expectNoViolation(report);
    },
    lastsMs + 420_000,
  );
});
