import {
  OutageWithRebalance,
  expectFewFailedCalls,
} from '../../integration/core/support/outage-with-rebalance.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { sizeOf } from './chaos-run.js';

/** CHAOS_DOWN_MS chooses another duration. */
const downMs = sizeOf('DOWN_MS', { full: 30_000, smoke: 3_000 });

describeWithKafka('A binding whose dependency is unavailable for a long time', ({ brokers }) => {
  it(
    'is paused until the dependency is back; no record is lost, dead-lettered or handled twice',
    async () => {
      const report = await new OutageWithRebalance(brokers, downMs).run();
      const { failedBeforePause, failed, halfOpenPhases, recoveredAfterMs } = report;
      process.stderr.write(
        `${downMs} ms without a database: ${failedBeforePause} calls failed before the binding was paused, ${failed} in all and ${halfOpenPhases} half-open phases; all done ${Math.round(recoveredAfterMs)} ms after the resume\n`,
      );
      expectFewFailedCalls(report);
    },
    downMs * 2 + 120_000,
  );
});
