import { describeWithKafka } from '../../support/index.js';
import { OutageWithRebalance, expectFewFailedCalls } from '../support/outage-with-rebalance.js';

describeWithKafka('A binding whose dependency fails during a rebalance', ({ brokers }) => {
  it('pauses its new partitions as well, and is not resumed by the circuit while an operator has paused it', async () => {
    expectFewFailedCalls(await new OutageWithRebalance(brokers, 3_000).run());
  });
});
