import { describeWithKafka } from '../support/index.js';
import { BrokenWorld, expectProtected } from './broken-world.js';

describeWithKafka('a world that breaks under load', ({ brokers }) => {
  it('is left alone, by partitions that come meanwhile, too; and by nobody else once its operator says so', async () => {
    expectProtected(await new BrokenWorld(brokers, 3_000).run());
  });
});
