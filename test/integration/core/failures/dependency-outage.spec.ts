import { describeWithKafka } from '../../support/index.js';
import { DependencyOutage, expectAllHandled } from '../support/dependency-outage.js';

describeWithKafka(
  'A dependency outage under load, with circuit breaker and retry tiers',
  ({ brokers }) => {
    it('opens the circuit and sends no record to retry topics; after the outage all records are handled', async () => {
      const settings = {
        brokers,
        downMs: 4_000,
        openMs: 500,
        recordsPerRound: 20,
        rounds: 30,
        roundMs: 200,
        catchUpTimeoutMs: 30_000,
      };
      expectAllHandled(await new DependencyOutage(settings).run(), settings);
    }, 180_000);
  },
);
