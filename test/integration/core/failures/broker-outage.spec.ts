import { describeWithCluster } from '../../support/index.js';
import {
  dlt,
  expectDeadLettered,
  expectPaused,
  expectRecovered,
  failBad,
  once,
} from '../support/expect-paused-partition.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

const PARTITIONS = 3;
const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200, maxAttempts: 1 }] };

describeWithCluster(
  'A failed record whose next topic is on an unavailable broker',
  { brokers: 3 },
  (cluster) => {
    let testBus: OrdersTestBus;
    beforeEach(() => {
      testBus = new OrdersTestBus(cluster().brokers);
      testBus.handle = failBad;
    });
    afterEach(() => testBus.end());

    const leaders = async (name: string): Promise<readonly number[]> => {
      const [topic] = await testBus.admin.topics([name]);
      return (topic?.partitions ?? []).map(({ leader }) => leader);
    };

    /**
     * Creates the topics, of which only `name` has a single replica. Returns the leader of that
     * replica, and a partition of the main topic that has another leader.
     */
    const createTopicsAround = async (name: string, tiers: number) => {
      await testBus.createTopics({ partitions: PARTITIONS, tiers, without: name });
      await testBus.admin.createTopics([{ name, partitions: 1, replicationFactor: 1 }]);
      const [unavailableBroker = 0] = await leaders(name);
      return {
        unavailableBroker,
        otherPartition: (await leaders(testBus.topic)).findIndex(
          (each) => each !== unavailableBroker,
        ),
      };
    };

    it('pauses its partition, but no other, until the broker of the dead-letter topic is back', async () => {
      const { unavailableBroker, otherPartition } = await createTopicsAround(
        testBus.deadLetterTopic,
        0,
      );
      const application = await testBus.start({ retry: once, dlt, sessionTimeoutMs: '15s' });
      await cluster().kill(unavailableBroker);
      await testBus.writeTo(otherPartition, '"bad"', '"good"');
      await expectPaused(testBus, application, testBus.deadLetterTopic);
      await cluster().restart(unavailableBroker);
      await expectDeadLettered(testBus, application);
    }, 180_000);

    it('pauses its partition until the broker of the retry topic is back', async () => {
      const { unavailableBroker, otherPartition } = await createTopicsAround(
        testBus.retryTopic(1),
        1,
      );
      const application = await testBus.start({ retry, dlt, sessionTimeoutMs: '15s' });
      await cluster().kill(unavailableBroker);
      await testBus.writeTo(otherPartition, '"bad"', '"good"');
      await expectPaused(testBus, application, testBus.retryTopic(1));
      await cluster().restart(unavailableBroker);
      await expectRecovered(testBus, application);
      await testBus.until('the dead letter', async () => (await testBus.letters()).length === 1);
      expect(await testBus.letters()).toMatchObject([{ totalAttempts: 2 }]);
    }, 180_000);
  },
);
