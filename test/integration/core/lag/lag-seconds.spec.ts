import { describeWithKafka } from '../../support/index.js';
import { PacedOrders } from '../support/paced-orders.js';

const PHASE_MS = 4_000;

// npm run test:chaos lag-seconds has the rates of the requirement, and its limit of one second.
describeWithKafka('The seconds of lag', ({ brokers }) => {
  let orders: PacedOrders;

  afterEach(() => orders.end(), 120_000);

  it.each([10, 2_000])(
    'are the age of the first unfinished record with %i records per second',
    async (perSecond) => {
      orders = new PacedOrders({ brokers, perSecond, phaseMs: PHASE_MS });
      const { whileBehindMs, whileStoppedMs, largestMs, longestGapMs } = await orders.run();
      // A slow machine makes the polls rarer, and between polls the time is interpolated.
      const toleranceMs = Math.max(1_000, 2 * longestGapMs);
      expect(whileBehindMs).toBeLessThanOrEqual(toleranceMs);
      expect(whileStoppedMs).toBeLessThanOrEqual(toleranceMs);
      expect(largestMs).toBeGreaterThan(PHASE_MS / 2);
    },
    300_000,
  );
});
