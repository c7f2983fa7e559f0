import {
  ClosedError,
  ConnectionError,
  InvalidOptionError,
  RefusedError,
  RequestTimeoutError,
  UnknownPartitionError,
  UnknownTopicError,
} from '../../port/errors.js';
import { VirtualRuntime } from '../../runtime/index.js';
import { KafkaAdmin } from './kafka-admin.js';
import { ScriptedAdminCluster } from './scripted-admin-cluster.spec-support.js';

const lost = new ConnectionError('The connection broke.');
const topicCode = (code: number, message: string | null = null) => [
  { name: 'orders', code, message },
];
const ready = [0, 1].map((partition) => ({
  topic: 'orders',
  partition,
  code: 0,
  offset: 0,
  timestamp: -1,
  leaderEpoch: 0,
}));
const coordinator = { errorCode: 0, coordinator: { nodeId: 2, host: 'localhost', port: 2 } };
const offset = { topic: 'orders', partition: 0, offset: 4 };

let runtime: VirtualRuntime;
let cluster: ScriptedAdminCluster;
let admin: KafkaAdmin;

beforeEach(() => {
  runtime = new VirtualRuntime();
  cluster = new ScriptedAdminCluster(runtime)
    .script('ListOffsets', ready)
    .script('GroupCoordinator', coordinator);
  admin = new KafkaAdmin({ cluster, sessionId: 'admin-1' });
});

afterEach(() => expect(runtime.pendingTimers).toBe(0));

/** Advances the time, and returns the result of the call or throws its error. */
async function after<T>(milliseconds: number, call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  await runtime.advance(milliseconds);
  const open = Symbol('still under way');
  const result = await Promise.race([call, Promise.resolve(open)]);
  if (result === open) throw new Error(`The call is still under way after ${milliseconds} ms.`);
  return result;
}

describe('KafkaAdmin with temporary errors', () => {
  it('retries at the new controller that the refreshed metadata name', async () => {
    cluster.script('CreateTopics', topicCode(41), topicCode(0));
    const changes = await after(1_000, admin.createTopics([{ name: 'orders' }]));
    expect(changes).toEqual([{ name: 'orders', changed: true }]);
    expect(cluster.requests('CreateTopics')).toHaveLength(2);
    expect(cluster.refreshes).toBeGreaterThan(1);
  });

  it.each([3, 6])(
    'asks the new leader for the partitions that the old one answered with code %d',
    async (moved) => {
      const at = (partition: number, code: number) => ({
        topic: 'orders',
        partition,
        code,
        low: 3,
      });
      cluster.script('DeleteRecords', [at(0, 0), at(1, moved)], [at(1, 0)]);
      const before = [0, 1].map((partition) => ({ partition, offset: 3 }));
      const deleting = admin.deleteRecords('orders', before);
      deleting.catch(() => undefined);
      await runtime.settle();
      cluster.leaders = [1, 2];
      const lows = await after(1_000, deleting);
      expect(lows).toEqual([0, 1].map((partition) => ({ partition, low: 3 })));
      expect(cluster.requests('DeleteRecords').map(({ target }) => target)).toEqual([1, 2]);
    },
  );

  it('finds the coordinator again if it has moved', async () => {
    cluster.script('DeleteGroups', [{ groupId: 'g', code: 16 }], lost, [{ groupId: 'g', code: 0 }]);
    expect(await after(1_000, admin.deleteGroup('g'))).toBe(true);
    expect(cluster.requests('GroupCoordinator')).toHaveLength(3);
  });

  it('uses the new address of a coordinator that was restarted elsewhere', async () => {
    const before = { id: 2, host: 'before', port: 9, rack: null };
    cluster.metadata.update({ brokers: [before], clusterId: null, controllerId: 1, topics: [] });
    cluster.script('OffsetFetch', { code: 0, offsets: [] });
    await after(0, admin.groupOffsets('group'));
    expect(cluster.metadata.brokers.get(2)).toMatchObject({ host: 'localhost', port: 2 });
    expect(cluster.refreshes).toBe(0);
  });

  it('retries a broker that cannot list its groups yet, so that no group is missing', async () => {
    const listed = (code: number, ...ids: string[]) => ({
      code,
      groups: ids.map((groupId) => ({ groupId, protocolType: 'consumer' })),
    });
    cluster.script(
      'ListGroups',
      listed(0, 'one'),
      listed(14),
      listed(0, 'one'),
      listed(0, 'other'),
    );
    const groups = await after(1_000, admin.groups());
    expect(groups.map(({ groupId }) => groupId)).toEqual(['one', 'other']);
  });
});

describe('KafkaAdmin after a lost response', () => {
  it.each([
    ['creating', 'CreateTopics', 36, () => admin.createTopics([{ name: 'orders' }])],
    ['deleting', 'DeleteTopics', 3, () => admin.deleteTopics(['orders'])],
  ])(
    'does not fail because of the change that its own lost attempt has made: %s',
    async (_, api, nothingToDo, call) => {
      cluster.script(api, lost, topicCode(nothingToDo));
      cluster.script('Metadata', { topics: [{ name: 'orders', code: 3 }] });
      expect(await after(2_000, call())).toEqual([{ name: 'orders', changed: true }]);
    },
  );

  it('does not fail if its own lost attempt has already added the partitions', async () => {
    cluster.script('CreatePartitions', lost, topicCode(37));
    await after(2_000, admin.createPartitions('orders', 2));
    expect(cluster.requests('CreatePartitions')).toHaveLength(2);
  });
});

describe('KafkaAdmin with permanent errors', () => {
  it("rejects at once, with the broker's message", async () => {
    cluster.script('CreatePartitions', topicCode(37, 'The topic has 4 partitions.'));
    const growing = after(0, admin.createPartitions('orders', 2));
    await expect(growing).rejects.toThrow(/"orders" to 2.*INVALID_PARTITIONS.*4 partitions/);
    expect(cluster.requests('CreatePartitions')).toHaveLength(1);
  });

  it('names the topic and the partition in the error', async () => {
    await expect(after(0, admin.watermarks('missing'))).rejects.toThrow(UnknownTopicError);
    const beyond = admin.deleteRecords('orders', [{ partition: 7, offset: 0 }]);
    await expect(after(0, beyond)).rejects.toThrow(UnknownPartitionError);
  });

  it('advises stopping the consumers if it cannot change a group because it has members', async () => {
    cluster.script('OffsetCommit', [{ ...offset, code: 25 }]);
    const setting = after(0, admin.setGroupOffsets('billing', [offset]));
    await expect(setting).rejects.toThrow(RefusedError);
    await expect(setting).rejects.toThrow(/"billing" has members: stop its consumers first/);
    cluster.script('DeleteGroups', [{ groupId: 'billing', code: 68 }]);
    await expect(after(0, admin.deleteGroup('billing'))).rejects.toThrow(/stop its consumers/);
  });

  it.each([
    ['createTopics', () => admin.createTopics([{ name: 'orders', partitions: 2 ** 31 }])],
    ['createPartitions', () => admin.createPartitions('orders', 1.5)],
    ['setGroupOffsets', () => admin.setGroupOffsets('g', [{ ...offset, offset: 1.5 }])],
    ['deleteRecords', () => admin.deleteRecords('orders', [{ partition: 0, offset: -2 }])],
    ['offsetsAt', () => admin.offsetsAt('orders', Number.NaN)],
  ] as const)('rejects numbers outside of their valid range: %s', async (_, call) => {
    await expect(after<unknown>(0, call())).rejects.toThrow(InvalidOptionError);
    expect(cluster.sent).toEqual([]);
  });
});

describe('request timeout of KafkaAdmin', () => {
  it('limits all attempts of a call together, and rejects with the latest error', async () => {
    cluster.script('Metadata', lost);
    const describing = admin.topics();
    await expect(after(9_999, describing)).rejects.toThrow(/still under way/);
    await expect(after(1, describing)).rejects.toBe(lost);
    expect(cluster.requests('Metadata').length).toBeLessThan(30);
  });

  it('rejects with a timeout error if no broker has responded', async () => {
    cluster.script('DescribeConfigs', 'silence');
    const reading = after(10_000, admin.topicConfig('orders'));
    await expect(reading).rejects.toThrow(RequestTimeoutError);
    await expect(reading).rejects.toThrow(/configuration of topic "orders".*10000 ms/);
  });

  it('limits the wait until all partitions of a created topic have leaders', async () => {
    cluster.script('CreateTopics', topicCode(0));
    cluster.leaders = [1, -1];
    const creating = after(10_000, admin.createTopics([{ name: 'orders' }]));
    await expect(creating).rejects.toThrow(/not all of its partitions have a leader/);
  });
});

describe('KafkaAdmin.close()', () => {
  it('ends running calls and closes the connections', async () => {
    cluster.script('Metadata', 'silence');
    const describing = admin.topics();
    describing.catch(() => undefined);
    await runtime.settle();
    await Promise.all([admin.close(), admin.close()]);
    await expect(describing).rejects.toThrow(ClosedError);
    expect(cluster.closedChannels).toContain('admin:admin-1');
  });

  it('makes later calls reject, including readRange()', async () => {
    await admin.close();
    await expect(admin.groups()).rejects.toThrow(ClosedError);
    const range = admin.readRange('orders', 0, 0, 1)[Symbol.asyncIterator]();
    await expect(range.next()).rejects.toThrow(ClosedError);
    expect(cluster.sent).toEqual([]);
  });
});
