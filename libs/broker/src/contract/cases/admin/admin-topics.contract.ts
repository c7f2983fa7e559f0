import assert from 'node:assert/strict';
import { BrokerError, RefusedError, UnknownTopicError } from '../../../port/errors.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function adminTopicsContract(suite: ContractSuite): void {
  topics(suite);
  configuration(suite);
  offsets(suite);
}

function topics({ testCase }: ContractSuite): void {
  testCase('describes the cluster', async ({ admin }) => {
    const { brokers, controllerId } = await admin.cluster();
    assert.ok(brokers.some(({ id }) => id === controllerId));
    for (const { host, port } of brokers) assert.ok(host !== '' && port >= 0);
  });

  testCase('describes topics by name, and leaves out those that do not exist', async (context) => {
    const [topic, missing] = [await context.topic(3), context.name('missing')];
    const described = await context.admin.topics([missing, topic]);
    assert.deepEqual(
      described.map(({ name, internal }) => [name, internal]),
      [[topic, false]],
    );
    const partitions = [...(described[0]?.partitions ?? [])];
    partitions.sort((one, other) => one.partition - other.partition);
    assert.deepEqual(
      partitions.map(({ partition }) => partition),
      [0, 1, 2],
    );
    for (const { leader, leaderEpoch, replicas, inSync } of partitions) {
      assert.ok(leader >= 0 && leaderEpoch >= 0);
      assert.ok(replicas.includes(leader) && inSync.includes(leader));
    }
  });

  testCase('lists all topics by default', async (context) => {
    const created = [await context.topic(), await context.topic()];
    const names = (await context.admin.topics()).map(({ name }) => name);
    for (const topic of created) assert.ok(names.includes(topic));
  });

  testCase('creates missing topics, and does not change existing ones', async (context) => {
    const [existing, fresh] = [await context.topic(2), context.name('fresh')];
    const changes = await context.admin.createTopics([
      { name: existing, partitions: 5 },
      { name: fresh, partitions: 3 },
    ]);
    assert.deepEqual(changes, [
      { name: existing, changed: false },
      { name: fresh, changed: true },
    ]);
    const described = await context.admin.topics([existing, fresh]);
    const counts = described.map(({ name, partitions }) => [name, partitions.length] as const);
    assert.deepEqual(Object.fromEntries(counts), { [existing]: 2, [fresh]: 3 });
  });

  testCase('a created topic can be written and read at once', async (context) => {
    const topic = await context.topic(8);
    const records = [...Array(8).keys()].map((partition) => ({ topic, partition, value: 'v' }));
    assert.equal((await context.send(records)).length, 8);
  });

  testCase('refuses to create an invalid topic', async (context) => {
    const impossible = { name: context.name('no-partitions'), partitions: 0 };
    await context.rejects(context.admin.createTopics([impossible]), BrokerError);
    const badName = { name: 'no such name!', partitions: 1 };
    await context.rejects(context.admin.createTopics([badName]), BrokerError);
    assert.deepEqual(await context.admin.topics([impossible.name]), []);
  });

  testCase('adds partitions to a topic, but never removes any', async (context) => {
    const topic = await context.topic(2);
    await context.admin.createPartitions(topic, 4);
    await context.eventually(
      'the topic has four partitions',
      async () => (await context.admin.topics([topic]))[0]?.partitions.length === 4,
    );
    await context.rejects(context.admin.createPartitions(topic, 3), RefusedError);
    const missing = context.admin.createPartitions(context.name('missing'), 3);
    await context.rejects(missing, UnknownTopicError);
  });

  testCase('deletes existing topics, and reports which did not exist', async (context) => {
    const [topic, missing] = [await context.topic(), context.name('missing')];
    assert.deepEqual(await context.admin.deleteTopics([topic, missing]), [
      { name: topic, changed: true },
      { name: missing, changed: false },
    ]);
    await context.eventually(
      'the topic is deleted',
      async () => (await context.admin.topics([topic])).length === 0,
    );
  });
}

function configuration({ testCase }: ContractSuite): void {
  testCase('changes only the given configuration entries', async (context) => {
    const topic = await context.topic(1, { 'retention.ms': '60000', 'cleanup.policy': 'compact' });
    const before = await context.admin.topicConfig(topic);
    assert.equal(before['retention.ms'], '60000');
    await context.admin.alterTopicConfig(topic, { 'retention.ms': '70000' });
    await waitForConfig(context, topic, 'retention.ms', '70000');
    assert.equal((await context.admin.topicConfig(topic))['cleanup.policy'], 'compact');
  });

  testCase('restores the default of a configuration entry for null', async (context) => {
    const topic = await context.topic();
    const { 'retention.ms': byDefault = null } = await context.admin.topicConfig(topic);
    await context.admin.alterTopicConfig(topic, { 'retention.ms': '60000' });
    await waitForConfig(context, topic, 'retention.ms', '60000');
    await context.admin.alterTopicConfig(topic, { 'retention.ms': null });
    await waitForConfig(context, topic, 'retention.ms', byDefault);
  });

  testCase('refuses unknown configuration entries and unknown topics', async (context) => {
    const [topic, missing] = [await context.topic(), context.name('missing')];
    const nonsense = context.admin.alterTopicConfig(topic, { 'no.such.entry': '1' });
    await context.rejects(nonsense, BrokerError);
    await context.rejects(context.admin.topicConfig(missing), UnknownTopicError);
    const change = context.admin.alterTopicConfig(missing, { 'retention.ms': '1' });
    await context.rejects(change, UnknownTopicError);
  });
}

/** The controller answers first; the brokers apply a change a moment later. */
function waitForConfig(
  context: CaseContext,
  topic: string,
  entry: string,
  value: string | null,
): Promise<void> {
  return context.eventually(
    `${entry} is ${value}`,
    async () => (await context.admin.topicConfig(topic))[entry] === value,
  );
}

function offsets({ testCase }: ContractSuite): void {
  testCase('returns the low and high watermark of each partition', async (context) => {
    const topic = await context.topic(2);
    await context.write(topic, numbered(5), 1);
    const lows = await context.admin.deleteRecords(topic, [{ partition: 1, offset: 3 }]);
    assert.deepEqual(lows, [{ partition: 1, low: 3 }]);
    const watermarks = [...(await context.admin.watermarks(topic))];
    assert.deepEqual(
      watermarks.sort((one, other) => one.partition - other.partition),
      [
        { partition: 0, low: 0, high: 0 },
        { partition: 1, low: 3, high: 5 },
      ],
    );
  });

  testCase('finds the first record at or after a timestamp', async (context) => {
    const topic = await context.topic(2);
    const start = context.runtime.now() - 100_000;
    const times = [0, 10, 20, 20, 30].map((after) => start + after);
    await context.send(times.map((timestamp) => ({ topic, partition: 0, value: 'v', timestamp })));
    const found = async (timestamp: number) => {
      const offsetsFound = await context.admin.offsetsAt(topic, timestamp);
      return [0, 1].map((index) => {
        const at = offsetsFound.find(({ partition }) => partition === index);
        return at && [at.offset, at.timestamp === null ? null : at.timestamp - start];
      });
    };
    const nothing = [null, null];
    assert.deepEqual(await found(start - 1), [[0, 0], nothing]);
    assert.deepEqual(await found(start + 10), [[1, 10], nothing]);
    assert.deepEqual(await found(start + 11), [[2, 20], nothing]);
    assert.deepEqual(await found(start + 30), [[4, 30], nothing]);
    assert.deepEqual(await found(start + 31), [nothing, nothing]);
  });

  testCase(
    'deletes records only up to the end of the log, and never restores any',
    async (context) => {
      const topic = await context.topic();
      await context.write(topic, numbered(5));
      await context.rejects(
        context.admin.deleteRecords(topic, [{ partition: 0, offset: 9 }]),
        BrokerError,
      );
      await context.admin.deleteRecords(topic, [{ partition: 0, offset: 4 }]);
      await context.failureOf(context.admin.deleteRecords(topic, [{ partition: 0, offset: 2 }]));
      assert.deepEqual(await context.admin.watermarks(topic), [{ partition: 0, low: 4, high: 5 }]);
    },
  );

  testCase('rejects watermarks and offsets of a topic that does not exist', async (context) => {
    const missing = context.name('missing');
    await context.rejects(context.admin.watermarks(missing), UnknownTopicError);
    await context.rejects(context.admin.offsetsAt(missing, 0), UnknownTopicError);
    const deleting = context.admin.deleteRecords(missing, [{ partition: 0, offset: 0 }]);
    await context.rejects(deleting, UnknownTopicError);
  });
}
