import { EventBusConnector } from '@nest-event-bus/core';
import { eventually } from '@nest-event-bus/testing';
import type { INestApplicationContext } from '@nestjs/common';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, type Properties } from '../support/orders-test-bus.js';

const PATIENCE = { timeoutMs: 60_000 };

describeWithKafka('A main topic that is deleted and created again, on a real Kafka', (kafka) => {
  let testBus: OrdersTestBus;
  const handled = (): unknown[] => testBus.calls.map(({ value }) => value);

  beforeEach(async () => {
    testBus = new OrdersTestBus(kafka.brokers);
    testBus.handle = () => undefined;
    await testBus.createTopics();
  });
  afterEach(() => testBus.end());

  async function startAndRead(properties: Properties): Promise<INestApplicationContext> {
    const isConsumer = properties.groupProtocol === 'consumer';
    const timeouts = { sessionTimeoutMs: undefined, heartbeatIntervalMs: undefined };
    const application = await testBus.start({
      ...properties,
      ...(isConsumer && timeouts),
      retry: { tiers: [] },
    });
    await testBus.write('1', '2', '3');
    await testBus.until(
      'the records to be committed',
      async () => (await testBus.committed()) === 3,
    );
    return application;
  }

  /**
   * Deletes the topic, waits until the group has taken its partition away or the time is over, and
   * creates it again.
   */
  async function recreate(waits: boolean): Promise<void> {
    await testBus.admin.deleteTopics([testBus.topic]);
    if (waits)
      await testBus.until('the group to notice', async () => {
        const { members } = await testBus.admin.describeGroup(testBus.groupId);
        return members.every(({ assignment }) => assignment.length === 0);
      });
    await testBus.createTopics({ without: testBus.deadLetterTopic });
    await testBus.write('4', '5');
  }

  // A member of the classic protocol keeps its partition, because its own topic is missing.
  describe.each([
    ['classic', false],
    ['consumer', false],
    ['consumer', true],
  ] as const)('(%s, created again after the group has noticed: %s)', (groupProtocol, waits) => {
    it('waits until the binding is stopped and started', async () => {
      const application = await startAndRead({ groupProtocol });
      await recreate(waits);
      await eventually(
        () => testBus.health(application).reasons.join().includes('stop and start the binding'),
        PATIENCE,
      );
      expect(handled()).toEqual([1, 2, 3]);
      const connector = application.get(EventBusConnector);
      await connector.stop('orders');
      await connector.start('orders');
      await eventually(() => handled().length === 5, PATIENCE);
      expect(handled()).toEqual([1, 2, 3, 4, 5]);
      await eventually(() => testBus.health(application).status === 'UP', PATIENCE);
    });

    it("is read from its beginning with onTopicRecreated: 'earliest'", async () => {
      const application = await startAndRead({
        groupProtocol,
        offsetReset: 'latest',
        onTopicRecreated: 'earliest',
      });
      await recreate(waits);
      await eventually(() => handled().length === 5, PATIENCE);
      expect(handled()).toEqual([1, 2, 3, 4, 5]);
      await testBus.until('them to be committed', async () => (await testBus.committed()) === 2);
      expect(testBus.health(application).status).toBe('UP');
    });

    it("is read from its end with onTopicRecreated: 'latest'", async () => {
      const application = await startAndRead({ groupProtocol, onTopicRecreated: 'latest' });
      await recreate(waits);
      await testBus.until('the end to be committed', async () => (await testBus.committed()) === 2);
      await testBus.until('health to be UP', () => testBus.health(application).status === 'UP');
      await testBus.write('6');
      await eventually(() => handled().length === 4, PATIENCE);
      expect(handled()).toEqual([1, 2, 3, 6]);
    });
  });
});
