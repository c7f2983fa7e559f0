import { PacedOrders } from '../../integration/core/support/paced-orders.js';
import { describeWithKafka } from '../../integration/support/index.js';
import { sizeOf } from './chaos-run.js';

/** The variable CHAOS_PHASE_MS chooses another duration of each phase. */
const phaseMs = sizeOf('PHASE_MS', { full: 30_000, smoke: 5_000 });
const LIMIT_MS = 1_000;

describeWithKafka('The seconds of lag under load', ({ brokers }) => {
  it.each([10, 10_000])(
    'are within a second of the truth with %i records per second',
    async (perSecond) => {
      const orders = new PacedOrders({ brokers, perSecond, phaseMs });
      try {
        const errors = await orders.run();
        const show = (milliseconds: number): string => `${Math.round(milliseconds)} ms`;
        process.stderr.write(
          `${perSecond} records/s wanted, ${Math.round(errors.reached)} written: wrong by ${show(errors.whileBehindMs)} while handlers are behind, by ${show(errors.whileStoppedMs)} while the binding is stopped; largest lag ${show(errors.largestMs)}, at most ${show(errors.longestGapMs)} between polls\n`,
        );
        expect(errors.whileBehindMs).toBeLessThanOrEqual(LIMIT_MS);
        expect(errors.whileStoppedMs).toBeLessThanOrEqual(LIMIT_MS);
      } finally {
        await orders.end();
      }
    },
    600_000,
  );
});
