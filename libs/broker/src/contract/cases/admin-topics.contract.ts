import assert from 'node:assert/strict';
import { BrokerError, RefusedError, UnknownTopicError } from '../../port/errors.js';
import { numbered } from '../numbered.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function adminTopicsContract(suite: ContractSuite): void {
  topics(suite);
  configuration(suite);
  offsets(suite);
}

function topics({ promise }: ContractSuite): void {
  promise('describes the cluster', async ({ admin }) => {
    const { brokers, controllerId } = await admin.cluster();
    assert.ok(brokers.some(({ id }) => id === controllerId));
    for (const { host, port } of brokers) assert.ok(host !== '' && port >= 0);
  });

  promise('describes topics by name, and leaves out what does not exist', async (world) => {
    const [topic, missing] = [await world.topic(3), world.name('missing')];
    const described = await world.admin.topics([missing, topic]);
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

  promise('lists all topics when none is named', async (world) => {
    const created = [await world.topic(), await world.topic()];
    const names = (await world.admin.topics()).map(({ name }) => name);
    for (const topic of created) assert.ok(names.includes(topic));
  });

  promise('creates what is missing, and leaves what exists as it is', async (world) => {
    const [existing, fresh] = [await world.topic(2), world.name('fresh')];
    const changes = await world.admin.createTopics([
      { name: existing, partitions: 5 },
      { name: fresh, partitions: 3 },
    ]);
    assert.deepEqual(changes, [
      { name: existing, changed: false },
      { name: fresh, changed: true },
    ]);
    const described = await world.admin.topics([existing, fresh]);
    const counts = described.map(({ name, partitions }) => [name, partitions.length] as const);
    assert.deepEqual(Object.fromEntries(counts), { [existing]: 2, [fresh]: 3 });
  });

  promise('can be written to and read as soon as it is created', async (world) => {
    const topic = await world.topic(8);
    const records = [...Array(8).keys()].map((partition) => ({ topic, partition, value: 'v' }));
    assert.equal((await world.send(records)).length, 8);
  });

  promise('refuses a topic that cannot be', async (world) => {
    const impossible = { name: world.name('no-partitions'), partitions: 0 };
    await world.rejects(world.admin.createTopics([impossible]), BrokerError);
    const badName = { name: 'no such name!', partitions: 1 };
    await world.rejects(world.admin.createTopics([badName]), BrokerError);
    assert.deepEqual(await world.admin.topics([impossible.name]), []);
  });

  promise('grows a topic, but never shrinks it', async (world) => {
    const topic = await world.topic(2);
    await world.admin.createPartitions(topic, 4);
    await world.eventually(
      'it has four partitions',
      async () => (await world.admin.topics([topic]))[0]?.partitions.length === 4,
    );
    await world.rejects(world.admin.createPartitions(topic, 3), RefusedError);
    const missing = world.admin.createPartitions(world.name('missing'), 3);
    await world.rejects(missing, UnknownTopicError);
  });

  promise('deletes what exists, and says what was gone already', async (world) => {
    const [topic, missing] = [await world.topic(), world.name('missing')];
    assert.deepEqual(await world.admin.deleteTopics([topic, missing]), [
      { name: topic, changed: true },
      { name: missing, changed: false },
    ]);
    await world.eventually(
      'it is gone',
      async () => (await world.admin.topics([topic])).length === 0,
    );
  });
}

function configuration({ promise }: ContractSuite): void {
  promise('changes only the entries given', async (world) => {
    const topic = await world.topic(1, { 'retention.ms': '60000', 'cleanup.policy': 'compact' });
    const before = await world.admin.topicConfig(topic);
    assert.equal(before['retention.ms'], '60000');
    await world.admin.alterTopicConfig(topic, { 'retention.ms': '70000' });
    await becomes(world, topic, 'retention.ms', '70000');
    assert.equal((await world.admin.topicConfig(topic))['cleanup.policy'], 'compact');
  });

  promise('goes back to the default for null', async (world) => {
    const topic = await world.topic();
    const { 'retention.ms': byDefault = null } = await world.admin.topicConfig(topic);
    await world.admin.alterTopicConfig(topic, { 'retention.ms': '60000' });
    await becomes(world, topic, 'retention.ms', '60000');
    await world.admin.alterTopicConfig(topic, { 'retention.ms': null });
    await becomes(world, topic, 'retention.ms', byDefault);
  });

  promise('refuses entries that do not exist, and topics that do not', async (world) => {
    const [topic, missing] = [await world.topic(), world.name('missing')];
    const nonsense = world.admin.alterTopicConfig(topic, { 'no.such.entry': '1' });
    await world.rejects(nonsense, BrokerError);
    await world.rejects(world.admin.topicConfig(missing), UnknownTopicError);
    const change = world.admin.alterTopicConfig(missing, { 'retention.ms': '1' });
    await world.rejects(change, UnknownTopicError);
  });
}

/** The controller answers first; the brokers hear of a change a moment later. */
function becomes(world: World, topic: string, entry: string, value: string | null): Promise<void> {
  return world.eventually(
    `${entry} is ${value}`,
    async () => (await world.admin.topicConfig(topic))[entry] === value,
  );
}

function offsets({ promise }: ContractSuite): void {
  promise('tells where each log begins and ends', async (world) => {
    const topic = await world.topic(2);
    await world.write(topic, numbered(5), 1);
    const lows = await world.admin.deleteRecords(topic, [{ partition: 1, offset: 3 }]);
    assert.deepEqual(lows, [{ partition: 1, low: 3 }]);
    const watermarks = [...(await world.admin.watermarks(topic))];
    assert.deepEqual(
      watermarks.sort((one, other) => one.partition - other.partition),
      [
        { partition: 0, low: 0, high: 0 },
        { partition: 1, low: 3, high: 5 },
      ],
    );
  });

  promise('finds the first record at or after a time', async (world) => {
    const topic = await world.topic(2);
    const start = world.runtime.now() - 100_000;
    const times = [0, 10, 20, 20, 30].map((after) => start + after);
    await world.send(times.map((timestamp) => ({ topic, partition: 0, value: 'v', timestamp })));
    const found = async (timestamp: number) => {
      const offsetsFound = await world.admin.offsetsAt(topic, timestamp);
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

  promise('deletes records only up to the end, and never brings one back', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(5));
    await world.rejects(
      world.admin.deleteRecords(topic, [{ partition: 0, offset: 9 }]),
      BrokerError,
    );
    await world.admin.deleteRecords(topic, [{ partition: 0, offset: 4 }]);
    await world.failureOf(world.admin.deleteRecords(topic, [{ partition: 0, offset: 2 }]));
    assert.deepEqual(await world.admin.watermarks(topic), [{ partition: 0, low: 4, high: 5 }]);
  });

  promise('knows no offsets of a topic that does not exist', async (world) => {
    const missing = world.name('missing');
    await world.rejects(world.admin.watermarks(missing), UnknownTopicError);
    await world.rejects(world.admin.offsetsAt(missing, 0), UnknownTopicError);
    const deleting = world.admin.deleteRecords(missing, [{ partition: 0, offset: 0 }]);
    await world.rejects(deleting, UnknownTopicError);
  });
}
