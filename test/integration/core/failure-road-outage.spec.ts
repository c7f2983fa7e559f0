import { describeWithCluster } from '../support/index.js';
import { dlt, expectDeadLettered, expectHeld, failBad, once } from './held-partition.js';
import { OrdersStage } from './orders-stage.js';

describeWithCluster('a dead-letter topic whose broker is down', { brokers: 3 }, (cluster) => {
  it('holds the partition until the broker is back; the group works on meanwhile', async () => {
    const stage = new OrdersStage(cluster().brokers);
    try {
      stage.handle = failBad;
      await stage.createTopics({ partitions: 3, without: stage.deadLetterTopic });
      // It alone is on one broker only.
      await stage.admin.createTopics([
        { name: stage.deadLetterTopic, partitions: 1, replicationFactor: 1 },
      ]);
      const leaders = async (name: string): Promise<readonly number[]> => {
        const [topic] = await stage.admin.topics([name]);
        return (topic?.partitions ?? []).map(({ leader }) => leader);
      };
      const [home = 0] = await leaders(stage.deadLetterTopic);
      const elsewhere = (await leaders(stage.topic)).findIndex((leader) => leader !== home);
      const application = await stage.start({ retry: once, dlt, sessionTimeoutMs: '15s' });
      await cluster().kill(home);
      await stage.writeTo(elsewhere, '"bad"', '"good"');
      await expectHeld(stage, application, stage.deadLetterTopic);
      await cluster().restart(home);
      await expectDeadLettered(stage, application);
    } finally {
      await stage.end();
    }
  }, 60_000);
});
