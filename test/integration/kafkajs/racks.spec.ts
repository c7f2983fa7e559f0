import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import type { BrokerDriver } from '@nest-event-bus/broker';
import { eventually, unique } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';

jest.setTimeout(180_000);

const RACKS = ['north', 'east', 'south'];
const RECORDS = 50;
const VALUE = 'x'.repeat(10_000);
const MOST_BYTES = (RECORDS * VALUE.length) / 2;

describeWithCluster(
  'fetching from brokers in several racks',
  {
    brokers: 3,
    racks: RACKS,
    proxied: true,
    settings: {
      'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
    },
  },
  (cluster) => {
    const drivers: BrokerDriver[] = [];
    afterEach(() => Promise.all(drivers.splice(0).map((driver) => driver.close())));

    const driverIn = (rackId?: string): BrokerDriver => {
      const driver = kafkajs({
        brokers: cluster().proxiedBrokers,
        connectionTimeoutMs: 1_000,
        requestTimeoutMs: 3_000,
        ...(rackId && { rackId }),
      });
      drivers.push(driver);
      return driver;
    };

    /**
     * Creates a topic with one partition and writes to it directly, without the proxies. Returns
     * its leader.
     */
    const createWrittenTopic = async () => {
      const driver = kafkajs({ brokers: cluster().brokers });
      drivers.push(driver);
      const topic = unique('racks');
      const admin = driver.admin();
      await admin.createTopics([{ name: topic, partitions: 1 }]);
      const producer = driver.producer();
      const write = () =>
        producer.send(
          Array.from({ length: RECORDS }, () => ({ topic, partition: 0, value: VALUE })),
        );
      await write();
      const partition = async () => (await admin.topics([topic]))[0]?.partitions[0];
      await eventually(async () => (await partition())?.inSync.length === 3, {
        timeoutMs: 60_000,
        description: 'all replicas to be in sync',
      });
      return { topic, write, leader: (await partition())?.leader ?? -1 };
    };

    const reader = async (driver: BrokerDriver, topic: string) => {
      const session = driver.consumer({ groupId: unique('group'), topics: [topic] });
      const offsets: number[] = [];
      const ignore = (): void => undefined;
      await session.start({ onAssigned: ignore, onRevoked: ignore, onLost: ignore });
      void (async () => {
        for (;;) for (const { offset } of await session.poll(100)) offsets.push(offset);
      })().catch(() => undefined);
      const waitFor = (count: number) =>
        eventually(() => offsets.length >= count, {
          timeoutMs: 60_000,
          description: `${count} records`,
        });
      return { offsets, waitFor };
    };

    const bytesFrom = (): number[] =>
      cluster().proxies.map((proxy) => proxy.bytes.toClient.forwarded);

    /** Returns the brokers that sent most of the records during the work. */
    const servedBy = async (work: () => Promise<unknown>): Promise<number[]> => {
      const before = bytesFrom();
      await work();
      return bytesFrom().flatMap((bytes, broker) =>
        bytes - (before[broker] ?? 0) > MOST_BYTES ? [broker] : [],
      );
    };

    it('reads from the replica in the rack of the consumer, whichever broker is the leader', async () => {
      const { topic, leader } = await createWrittenTopic();
      for (const [broker, rack] of RACKS.entries())
        expect(
          await servedBy(async () => (await reader(driverIn(rack), topic)).waitFor(RECORDS)),
        ).toEqual([broker]);
      expect(
        await servedBy(async () => (await reader(driverIn(), topic)).waitFor(RECORDS)),
      ).toEqual([leader]);
    });

    it('reads from the leader while the replica in its rack is down, without missing a record', async () => {
      const { topic, leader, write } = await createWrittenTopic();
      const near = (leader + 1) % 3;
      const { offsets, waitFor } = await reader(driverIn(RACKS[near]), topic);
      await waitFor(RECORDS);
      await cluster().kill(near);
      await write();
      await waitFor(2 * RECORDS);
      expect(offsets).toEqual(Array.from({ length: 2 * RECORDS }, (_, offset) => offset));
    });
  },
);
