import type { BrokerDriver, ConsumerSession } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { expelMember } from '../contract/expel-member.js';
import { describeWithKafka } from '../support/index.js';
import { SlowLeader } from './slow-leader.js';

const TIME_LIMIT_MS = 60_000;

describeWithKafka(
  'ConsumerSession.commit, while the group waits for SyncGroup of its leader',
  ({ brokers }) => {
    let topic: string;
    let groupId: string;
    let driver: BrokerDriver;
    let leader: SlowLeader;
    let consumer: ConsumerSession;
    let calls: string[];
    let onRevoked: () => Promise<void>;

    const commit = (): Promise<void> => consumer.commit([{ topic, partition: 0, offset: 0 }]);
    const assignments = (): number => calls.filter((each) => each === 'assigned').length;

    /** Assigns a partition to the consumer. Then the leader joins again and delays its SyncGroup. */
    beforeEach(async () => {
      [topic, groupId] = [unique('orders'), unique('shop')];
      driver = kafkajs({ brokers });
      leader = new SlowLeader(brokers, groupId, topic);
      calls = [];
      onRevoked = () => Promise.resolve();
      await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
      await leader.join();
      await leader.assign(0);
      consumer = driver.consumer({
        groupId,
        topics: [topic],
        assignors: ['cooperative-sticky'],
        sessionTimeoutMs: 6_000,
        heartbeatIntervalMs: 300,
      });
      const started = consumer.start({
        onAssigned: (partitions) => void calls.push(...partitions.map(() => 'assigned')),
        onRevoked: () => onRevoked(),
        onLost: () => void calls.push('lost'),
      });
      await eventually(async () => {
        const { state } = await driver.admin().describeGroup(groupId);
        return state === 'PreparingRebalance';
      });
      await leader.join();
      await leader.assign(0);
      await started;
      await eventually(() => assignments() === 1);
      await leader.join();
    });

    afterEach(async () => {
      leader.close();
      await driver.close();
    });

    it('rejects as fenced if the member is expelled, and does not delay later commits', async () => {
      const early = commit().catch((error: Error) => error);
      await sleep(realRuntime, 500);
      await expelMember(brokers[0]!, groupId, consumer.memberId);
      await leader.join();
      await eventually(async () => {
        const { members } = await driver.admin().describeGroup(groupId);
        return members.length === 2;
      });
      await leader.join();
      await leader.assign(0);
      await eventually(() => assignments() === 2, { timeoutMs: TIME_LIMIT_MS });
      const late = commit();
      expect(await early).toMatchObject({ code: 'FENCED' });
      await late;
    });

    it('succeeds in onRevoked when the member closes, and does not delay the close', async () => {
      onRevoked = async () => {
        await commit();
        calls.push('committed');
      };
      await sleep(realRuntime, 300);
      const since = realRuntime.monotonic();
      const closed = consumer.close();
      await sleep(realRuntime, 1_000);
      await leader.assign(0);
      await closed;
      expect(calls).toEqual(['assigned', 'committed']);
      expect(realRuntime.monotonic() - since).toBeLessThan(20_000);
    });
  },
);
