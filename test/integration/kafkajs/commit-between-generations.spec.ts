import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { expelMember } from '../contract/expel-member.js';
import { describeWithKafka } from '../support/index.js';
import { SlowLeader } from './slow-leader.js';

const nothing = (): void => undefined;
const NOT_LONG_MS = 10_000;

describeWithKafka('a commit while the group waits for its leader', ({ brokers }) => {
  it('is fenced when the member is expelled meanwhile, and keeps no later one waiting', async () => {
    const [topic, groupId] = [unique('orders'), unique('shop')];
    const driver = kafkajs({ brokers });
    const leader = new SlowLeader(brokers, groupId, topic);
    try {
      await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
      await leader.join();
      await leader.give(0);
      const consumer = driver.consumer({
        groupId,
        topics: [topic],
        assignors: ['cooperative-sticky'],
        sessionTimeoutMs: 6_000,
        heartbeatIntervalMs: 300,
      });
      let assigned = 0;
      const started = consumer.start({
        onAssigned: (partitions) => void (assigned += partitions.length),
        onRevoked: nothing,
        onLost: nothing,
      });
      const state = async (): Promise<string> =>
        (await driver.admin().describeGroup(groupId)).state;
      await eventually(async () => (await state()) === 'PreparingRebalance');
      await leader.join();
      await leader.give(0);
      await started;
      await eventually(() => assigned === 1);

      await leader.join();
      const early = consumer
        .commit([{ topic, partition: 0, offset: 0 }])
        .catch((error: Error) => error);
      await sleep(realRuntime, 500);
      await expelMember(brokers[0]!, groupId, consumer.memberId);
      await leader.join();
      await eventually(async () => {
        const { members } = await driver.admin().describeGroup(groupId);
        return members.length === 2;
      });
      await leader.join();
      await leader.give(0);
      await eventually(() => assigned === 2, { timeoutMs: NOT_LONG_MS });
      const late = consumer.commit([{ topic, partition: 0, offset: 0 }]);
      expect(await early).toMatchObject({ code: 'FENCED' });
      await late;
    } finally {
      leader.close();
      await driver.close();
    }
  });

  it('succeeds in the hand-back of a member that is closed, and holds up nobody', async () => {
    const [topic, groupId] = [unique('orders'), unique('shop')];
    const driver = kafkajs({ brokers });
    const leader = new SlowLeader(brokers, groupId, topic);
    try {
      await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
      await leader.join();
      await leader.give(0);
      const consumer = driver.consumer({
        groupId,
        topics: [topic],
        assignors: ['cooperative-sticky'],
        sessionTimeoutMs: 6_000,
        heartbeatIntervalMs: 300,
        rebalanceTimeoutMs: 15_000,
      });
      const told: string[] = [];
      const started = consumer.start({
        onAssigned: (partitions) => void told.push(...partitions.map(() => 'assigned')),
        onRevoked: async () => {
          await consumer.commit([{ topic, partition: 0, offset: 0 }]);
          told.push('committed');
        },
        onLost: () => void told.push('lost'),
      });
      const state = async (): Promise<string> =>
        (await driver.admin().describeGroup(groupId)).state;
      await eventually(async () => (await state()) === 'PreparingRebalance');
      await leader.join();
      await leader.give(0);
      await started;
      await eventually(() => told.length === 1);
      await leader.join();
      await sleep(realRuntime, 300);
      const since = realRuntime.monotonic();
      const closed = consumer.close();
      await sleep(realRuntime, 1_000);
      await leader.give(0);
      await closed;
      expect(told).toEqual(['assigned', 'committed']);
      expect(realRuntime.monotonic() - since).toBeLessThan(5_000);
    } finally {
      leader.close();
      await driver.close();
    }
  });
});
