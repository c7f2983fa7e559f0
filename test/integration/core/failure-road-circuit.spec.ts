import { describeWithKafka } from '../support/index.js';
import { DownDependency, expectCarriedThrough } from './down-dependency.js';

describeWithKafka('a dependency that is down under load, with breaker and tiers', ({ brokers }) => {
  it('opens the circuit and floods no retry topic; afterwards everything is handled', async () => {
    const settings = {
      brokers,
      downMs: 4_000,
      openMs: 500,
      recordsPerTurn: 20,
      turns: 30,
      turnMs: 200,
      patienceMs: 30_000,
    };
    expectCarriedThrough(await new DownDependency(settings).run(), settings);
  }, 90_000);
});
