import { CompressionTypes, Kafka, logLevel, type Producer } from 'kafkajs';
import {
  ClosedError,
  type AdminSession,
  type BrokerDriver,
  type BrokerRecord,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually, unique } from '@nest-event-bus/testing';
import { describeWithCluster, describeWithKafka } from '../support/index.js';

/** A value that is so large that the topic needs several fetches of one MiB. */
const WIDE = 'x'.repeat(30_000);

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const closable of opened.splice(0).reverse()) await closable.close();
});

function driverOf(brokers: readonly string[]): BrokerDriver {
  const driver = kafkajs({ brokers, clientId: 'admin-spec' });
  opened.push(driver);
  return driver;
}

async function newTopic(
  admin: AdminSession,
  partitions = 1,
  config: Readonly<Record<string, string>> = {},
): Promise<string> {
  const name = unique('admin');
  await admin.createTopics([{ name, partitions, config }]);
  return name;
}

/** kafkajs's own producer, which writes in transactions and gives control over the batch size. */
async function producerOn(brokers: readonly string[], transactional = false): Promise<Producer> {
  const producer = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).producer(
    transactional
      ? { transactionalId: unique('admin'), idempotent: true, maxInFlightRequests: 1 }
      : {},
  );
  await producer.connect();
  opened.push({ close: () => producer.disconnect() });
  return producer;
}

async function offsetsIn(range: AsyncIterable<BrokerRecord>): Promise<number[]> {
  const offsets: number[] = [];
  for await (const { offset } of range) offsets.push(offset);
  return offsets;
}

const upTo = (to: number, from = 0): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

describeWithKafka('readRange() on a real broker', ({ brokers }) => {
  /** Creates a topic with three and a half MiB, in batches of ten records. */
  async function wideTopic(admin: AdminSession): Promise<string> {
    const topic = await newTopic(admin);
    const producer = await producerOn(brokers);
    for (let batch = 0; batch < 12; batch++)
      await producer.send({ topic, messages: upTo(10).map(() => ({ value: WIDE })) });
    return topic;
  }

  it('reads with as many fetches as needed, also from and to the middle of a batch', async () => {
    const admin = driverOf(brokers).admin();
    const topic = await wideTopic(admin);
    expect(await offsetsIn(admin.readRange(topic, 0, 3, 117))).toEqual(upTo(117, 3));
  });

  it('skips records that are deleted while it reads', async () => {
    const admin = driverOf(brokers).admin();
    const topic = await wideTopic(admin);
    const offsets: number[] = [];
    for await (const { offset } of admin.readRange(topic, 0, 0, 120)) {
      if (offset === 0) await admin.deleteRecords(topic, [{ partition: 0, offset: 105 }]);
      offsets.push(offset);
    }
    expect(offsets.slice(-15)).toEqual(upTo(120, 105));
    expect(offsets.length).toBeLessThan(105);
  });

  it('skips aborted records, and returns them with read_uncommitted', async () => {
    const admin = driverOf(brokers).admin();
    const topic = await newTopic(admin);
    const producer = await producerOn(brokers, true);
    for (const [value, end] of [
      ['a', 'commit'],
      ['gone', 'abort'],
      ['b', 'commit'],
      ['gone', 'abort'],
    ] as const) {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ value }], compression: CompressionTypes.GZIP });
      await transaction[end]();
    }
    // A transaction with one record takes two offsets: the record and its end marker.
    const all = { isolation: 'read_uncommitted' } as const;
    expect(await offsetsIn(admin.readRange(topic, 0, 0, 100))).toEqual([0, 4]);
    expect(await offsetsIn(admin.readRange(topic, 0, 0, 100, all))).toEqual([0, 2, 4, 6]);
    expect(await offsetsIn(admin.readRange(topic, 0, 2, 4))).toEqual([]);
  });

  it('ends when the session is closed, even if it has not returned all records', async () => {
    const admin = driverOf(brokers).admin();
    const topic = await wideTopic(admin);
    const range = admin.readRange(topic, 0, 0, 120)[Symbol.asyncIterator]();
    await range.next();
    await admin.close();
    await expect(range.next()).rejects.toThrow(ClosedError);
  });

  it('leaves no connection open after its end', async () => {
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    const admin = driverOf(brokers).admin();
    const topic = await wideTopic(admin);
    await admin.watermarks(topic);
    const before = sockets();
    for (let round = 0; round < 5; round++)
      for await (const { offset } of admin.readRange(topic, 0, 0, 5)) if (offset === 2) break;
    await eventually(() => sockets() <= before, { description: 'the sockets to be gone' });
  });
});

describeWithKafka('admin on a real broker', ({ brokers }) => {
  it('returns the committed offsets of a group while a transaction is about to change them', async () => {
    const admin = driverOf(brokers).admin();
    const [topic, groupId] = [await newTopic(admin), unique('group')];
    await admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 3 }]);
    const producer = await producerOn(brokers, true);
    const transaction = await producer.transaction();
    await transaction.sendOffsets({
      consumerGroupId: groupId,
      topics: [{ topic, partitions: [{ partition: 0, offset: '7' }] }],
    });
    expect(await admin.groupOffsets(groupId)).toMatchObject([{ topic, offset: 3 }]);
    await transaction.commit();
  });

  it("creates a topic with the given configuration and the broker's defaults", async () => {
    const admin = driverOf(brokers).admin();
    const name = unique('admin');
    await admin.createTopics([{ name, config: { 'cleanup.policy': 'compact' } }]);
    const [topic] = await admin.topics([name]);
    expect(topic?.partitions.length).toBeGreaterThan(0);
    expect(topic?.id).toMatch(/^[0-9a-f]{32}$/);
    expect((await admin.topicConfig(name))['cleanup.policy']).toBe('compact');
  });

  it('runs many calls at the same time', async () => {
    const admin = driverOf(brokers).admin();
    const topics = await Promise.all(upTo(8).map(() => newTopic(admin, 2)));
    const watermarks = await Promise.all(topics.map((topic) => admin.watermarks(topic)));
    for (const each of watermarks)
      expect(each).toEqual([0, 1].map((partition) => ({ partition, low: 0, high: 0 })));
  });
});

jest.setTimeout(180_000);

describeWithCluster('admin with three brokers', { brokers: 3 }, (cluster) => {
  it('finds the groups of all brokers', async () => {
    const admin = driverOf(cluster().brokers).admin();
    const topic = await newTopic(admin);
    const groups = upTo(12).map(() => unique('group'));
    for (const groupId of groups)
      await admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 0 }]);
    const found = (await admin.groups()).map(({ groupId }) => groupId);
    expect(found).toEqual(expect.arrayContaining(groups));
  });

  it('reads and manages offsets after the leader has been killed', async () => {
    const admin = driverOf(cluster().brokers).admin();
    const topic = await newTopic(admin);
    const producer = await producerOn(cluster().brokers);
    for (let batch = 0; batch < 12; batch++)
      await producer.send({ topic, messages: upTo(10).map(() => ({ value: WIDE })) });
    const leader = (await admin.topics([topic]))[0]?.partitions[0]?.leader ?? -1;
    const offsets: number[] = [];
    for await (const { offset } of admin.readRange(topic, 0, 0, 120)) {
      if (offset === 0) await cluster().kill(leader);
      offsets.push(offset);
    }
    expect(offsets).toEqual(upTo(120));
    expect(await admin.watermarks(topic)).toEqual([{ partition: 0, low: 0, high: 120 }]);
    expect(await admin.deleteRecords(topic, [{ partition: 0, offset: 60 }])).toEqual([
      { partition: 0, low: 60 },
    ]);
    await cluster().restart(leader);
  });
});
