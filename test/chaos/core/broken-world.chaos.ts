import { BrokenWorld, expectProtected } from '../../integration/core/broken-world.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { sizeOf } from './chaos-run.js';

/** CHAOS_DOWN_MS chooses another time. */
const downMs = sizeOf('DOWN_MS', { full: 30_000, smoke: 3_000 });

describeWithKafka('a world that is broken for long', ({ brokers }) => {
  it(
    'is left alone until it is whole, and no record is lost, given up or done twice',
    async () => {
      const report = await new BrokenWorld(brokers, downMs).run();
      const { failedAtOnce, failed, trials, recoveredAfterMs } = report;
      process.stderr.write(
        `${downMs} ms without a database: ${failedAtOnce} calls failed before the binding was held, ${failed} in all and ${trials} trials; all done ${Math.round(recoveredAfterMs)} ms after it was let go\n`,
      );
      expectProtected(report);
    },
    downMs * 2 + 120_000,
  );
});
