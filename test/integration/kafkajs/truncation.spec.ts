import { LogTruncatedError, type OffsetReset, type PositionReset } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually, unique, type StartedKafka } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';

jest.setTimeout(180_000);

const SHARED = 10;
const CUT = 10;
const WRITTEN_AFTER = 40;

/** A group that reads the topic and records the calls of its listener. */
class GroupReader {
  readonly values: string[] = [];
  readonly resets: PositionReset[] = [];
  readonly stops: Error[] = [];
  readonly #driver;
  readonly #session;

  constructor(
    brokers: readonly string[],
    readonly topic: string,
    offsetReset: OffsetReset,
    groupId = unique('group'),
  ) {
    this.#driver = kafkajs({ brokers, connectionTimeoutMs: 1_000, requestTimeoutMs: 3_000 });
    this.#session = this.#driver.consumer({ groupId, topics: [topic], offsetReset });
  }

  async start(): Promise<this> {
    await this.#session.start({
      onAssigned: () => undefined,
      onRevoked: () => undefined,
      onLost: () => undefined,
      onReset: (reset) => void this.resets.push(reset),
      onStopped: (error) => void this.stops.push(error),
    });
    void this.#read().catch(() => undefined);
    return this;
  }

  /** Commits this offset for the group, and then starts to read. */
  async startAt(groupId: string, offset: number): Promise<this> {
    const offsets = [{ topic: this.topic, partition: 0, offset }];
    const admin = this.#driver.admin();
    // The request is repeated, because a coordinator that is still loading its groups refuses it.
    await eventually(() => admin.setGroupOffsets(groupId, offsets).then(() => true), {
      timeoutMs: 60_000,
      description: 'the offset to be set',
    });
    return this.start();
  }

  has(count: number): Promise<unknown> {
    return eventually(() => this.values.length >= count, {
      timeoutMs: 60_000,
      description: `${count} records, not ${this.values.length}, in state ${this.#session.status.state}`,
    });
  }

  /** Commits the records read so far, with the leader epoch of the last one. */
  commit(offset: number, leaderEpoch: number): Promise<void> {
    return this.#session.commit([{ topic: this.topic, partition: 0, offset, leaderEpoch }]);
  }

  seek(offset: number): void {
    this.#session.seek({ topic: this.topic, partition: 0 }, offset);
  }

  async close(): Promise<void> {
    await this.#driver.close();
  }

  async #read(): Promise<void> {
    for (;;) for (const { value } of await this.#session.poll(100)) this.values.push(String(value));
  }
}

const numbered = (what: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `${what} ${from + index}`);

describeWithCluster('consumer after an unclean leader election', { brokers: 3 }, (cluster) => {
  const readers: GroupReader[] = [];
  afterAll(() => Promise.all(readers.map((reader) => reader.close())));

  const reader = (topic: string, offsetReset: OffsetReset, groupId?: string): GroupReader => {
    const created = new GroupReader(cluster().brokers, topic, offsetReset, groupId);
    readers.push(created);
    return created;
  };

  it('reports truncated records and reads those that replaced them', async () => {
    const kafka = cluster();
    const { topic, leader, follower, epoch, send, leads } = await twoReplicas(kafka);
    await send(numbered('shared', SHARED));
    const [earliest, latest] = [reader(topic, 'earliest'), reader(topic, 'latest', unique('late'))];
    const groups = { none: unique('none'), restarted: unique('restarted') };
    const none = reader(topic, 'none', groups.none);
    const restarted = reader(topic, 'earliest', groups.restarted);
    await Promise.all([
      earliest.start(),
      latest.start(),
      none.startAt(groups.none, 0),
      restarted.start(),
    ]);
    await Promise.all([earliest, none, restarted].map((each) => each.has(SHARED)));

    await kafka.kill(follower);
    await send(numbered('cut off', CUT));
    await Promise.all([earliest, none, restarted].map((each) => each.has(SHARED + CUT)));
    await latest.has(CUT);
    await restarted.commit(SHARED + CUT, await epoch());
    await restarted.close();

    await kafka.kill(leader);
    await kafka.restart(follower);
    await leads(follower);
    await send(numbered('other', WRITTEN_AFTER));
    const back = await reader(topic, 'earliest', groups.restarted).start();

    const others = numbered('other', WRITTEN_AFTER);
    const lost = { topic, partition: 0, from: SHARED + CUT, to: SHARED, reason: 'log-truncated' };
    await earliest.has(SHARED + CUT + WRITTEN_AFTER);
    expect(earliest.values.slice(SHARED + CUT)).toEqual(others);
    expect(earliest.resets.slice(1)).toEqual([{ ...lost, policy: 'earliest' }]);
    await latest.has(CUT + WRITTEN_AFTER);
    expect(latest.values.slice(CUT)).toEqual(others);
    expect(latest.resets.slice(1)).toEqual([{ ...lost, policy: 'latest' }]);
    await back.has(WRITTEN_AFTER);
    expect(back.values).toEqual(others);
    expect(back.resets).toEqual([{ ...lost, policy: 'earliest' }]);

    await eventually(() => none.stops.length > 0, { timeoutMs: 60_000, description: 'the stop' });
    expect(none.values).toHaveLength(SHARED + CUT);
    const [stop] = none.stops;
    expect(stop).toBeInstanceOf(LogTruncatedError);
    expect(stop).toMatchObject({ topic, partition: 0, offset: SHARED + CUT, agreedEnd: SHARED });
    none.seek(SHARED);
    await none.has(SHARED + CUT + WRITTEN_AFTER);
    expect(none.values.slice(SHARED + CUT)).toEqual(others);
    expect(none.stops).toHaveLength(1);
    await kafka.restart(leader);
  });

  it('reports nothing if the new leader has all records', async () => {
    const kafka = cluster();
    const { topic, leader, follower, send, leads } = await twoReplicas(kafka);
    const groupId = unique('steady');
    const steady = await reader(topic, 'none', groupId).startAt(groupId, 0);
    await send(numbered('before', SHARED));
    await steady.has(SHARED);
    await kafka.shutDown(leader);
    await leads(follower);
    await send(numbered('after', SHARED));
    await steady.has(2 * SHARED);
    expect(steady.values).toEqual([...numbered('before', SHARED), ...numbered('after', SHARED)]);
    expect([steady.resets, steady.stops]).toEqual([[], []]);
  });
});

/**
 * Creates a topic with one partition on two of the brokers. The third broker keeps the cluster
 * available without these two.
 */
async function twoReplicas(kafka: StartedKafka) {
  const driver = kafkajs({ brokers: kafka.brokers, requestTimeoutMs: 3_000 });
  const admin = driver.admin();
  const topic = unique('truncated');
  const config = { 'unclean.leader.election.enable': 'true', 'min.insync.replicas': '1' };
  await admin.createTopics([{ name: topic, partitions: 1, replicationFactor: 2, config }]);
  const partition = async () => {
    const [found] = await admin.topics([topic]);
    const first = found?.partitions[0];
    if (!first) throw new Error('The topic has a partition.');
    return first;
  };
  // The request is repeated, because it may reach a broker that does not know the new topic yet.
  const { leader, replicas } = await eventually(partition, {
    timeoutMs: 60_000,
    description: 'the topic to be known',
  });
  const follower = replicas.find((each) => each !== leader) ?? -1;
  const leads = (broker: number): Promise<unknown> =>
    eventually(async () => (await partition()).leader === broker, {
      timeoutMs: 60_000,
      description: `broker ${broker} to lead`,
    });
  const send = async (values: readonly string[]): Promise<void> => {
    const producer = driver.producer({ lingerMs: 0 });
    await producer.send(values.map((value) => ({ topic, partition: 0, value })));
    await producer.close();
  };
  const epoch = async (): Promise<number> => (await partition()).leaderEpoch;
  return { topic, leader, follower, epoch, send, leads };
}
