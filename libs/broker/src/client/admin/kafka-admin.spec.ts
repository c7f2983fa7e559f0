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
import { KafkajsAdmin } from './kafka-admin.js';
import { ScriptedCluster } from './scripted-cluster.spec-support.js';

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
let cluster: ScriptedCluster;
let admin: KafkajsAdmin;

beforeEach(() => {
  runtime = new VirtualRuntime();
  cluster = new ScriptedCluster(runtime)
    .script('ListOffsets', ready)
    .script('GroupCoordinator', coordinator);
  admin = new KafkajsAdmin({ cluster, sessionId: 'admin-1' });
});

afterEach(() => expect(runtime.pendingTimers).toBe(0));

/** How the call ended, after so much time. */
async function after<T>(milliseconds: number, call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  await runtime.advance(milliseconds);
  const open = Symbol('still under way');
  const result = await Promise.race([call, Promise.resolve(open)]);
  if (result === open) throw new Error(`The call is still under way after ${milliseconds} ms.`);
  return result;
}

describe('what the cluster mends by itself', () => {
  it('is asked again, of the controller that metadata names by then', async () => {
    cluster.script('CreateTopics', topicCode(41), topicCode(0));
    const changes = await after(1_000, admin.createTopics([{ name: 'orders' }]));
    expect(changes).toEqual([{ name: 'orders', changed: true }]);
    expect(cluster.requests('CreateTopics')).toHaveLength(2);
    expect(cluster.refreshes).toBeGreaterThan(1);
  });

  it.each([3, 6])(
    'includes a leader that moved (%d): the new one is asked for what is open',
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

  it('includes a coordinator that moved: it is looked for again', async () => {
    cluster.script('DeleteGroups', [{ groupId: 'g', code: 16 }], lost, [{ groupId: 'g', code: 0 }]);
    expect(await after(1_000, admin.deleteGroup('g'))).toBe(true);
    expect(cluster.requests('GroupCoordinator')).toHaveLength(3);
  });

  it('includes a coordinator that is back at another address', async () => {
    const before = { id: 2, host: 'before', port: 9, rack: null };
    cluster.metadata.learn({ brokers: [before], clusterId: null, controllerId: 1, topics: [] });
    cluster.script('OffsetFetch', { code: 0, offsets: [] });
    await after(0, admin.groupOffsets('group'));
    expect(cluster.metadata.brokers.get(2)).toMatchObject({ host: 'localhost', port: 2 });
    expect(cluster.refreshes).toBe(0);
  });

  it('includes a broker that cannot list its groups yet: none is left out', async () => {
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

describe('an answer that was lost', () => {
  it.each([
    ['creating', 'CreateTopics', 36, () => admin.createTopics([{ name: 'orders' }])],
    ['deleting', 'DeleteTopics', 3, () => admin.deleteTopics(['orders'])],
  ])('does not make %s look like nothing was changed', async (_, api, nothingToDo, call) => {
    cluster.script(api, lost, topicCode(nothingToDo));
    cluster.script('Metadata', { topics: [{ name: 'orders', code: 3 }] });
    expect(await after(2_000, call())).toEqual([{ name: 'orders', changed: true }]);
  });

  it('does not make growing a topic fail, which has grown', async () => {
    cluster.script('CreatePartitions', lost, topicCode(37));
    await after(2_000, admin.createPartitions('orders', 2));
    expect(cluster.requests('CreatePartitions')).toHaveLength(2);
  });
});

describe('what waiting cannot mend', () => {
  it('is told at once, in the words of the broker', async () => {
    cluster.script('CreatePartitions', topicCode(37, 'The topic has 4 partitions.'));
    const growing = after(0, admin.createPartitions('orders', 2));
    await expect(growing).rejects.toThrow(/"orders" to 2.*INVALID_PARTITIONS.*4 partitions/);
    expect(cluster.requests('CreatePartitions')).toHaveLength(1);
  });

  it('is named by topic and partition', async () => {
    await expect(after(0, admin.watermarks('missing'))).rejects.toThrow(UnknownTopicError);
    const beyond = admin.deleteRecords('orders', [{ partition: 7, offset: 0 }]);
    await expect(after(0, beyond)).rejects.toThrow(UnknownPartitionError);
  });

  it('is to stop the consumers first, where a group has members', async () => {
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
  ] as const)('includes numbers that make no sense: %s', async (_, call) => {
    await expect(after<unknown>(0, call())).rejects.toThrow(InvalidOptionError);
    expect(cluster.sent).toEqual([]);
  });
});

describe('the request time-out', () => {
  it('bounds all tries together, and tells what went wrong', async () => {
    cluster.script('Metadata', lost);
    const describing = admin.topics();
    await expect(after(9_999, describing)).rejects.toThrow(/still under way/);
    await expect(after(1, describing)).rejects.toBe(lost);
    expect(cluster.requests('Metadata').length).toBeLessThan(30);
  });

  it('says so where nothing was answered at all', async () => {
    cluster.script('DescribeConfigs', 'silence');
    const reading = after(10_000, admin.topicConfig('orders'));
    await expect(reading).rejects.toThrow(RequestTimeoutError);
    await expect(reading).rejects.toThrow(/configuration of topic "orders".*10000 ms/);
  });

  it('bounds the wait for leaders too', async () => {
    cluster.script('CreateTopics', topicCode(0));
    cluster.leaders = [1, -1];
    const creating = after(10_000, admin.createTopics([{ name: 'orders' }]));
    await expect(creating).rejects.toThrow(/not every partition of it has got a leader/);
  });
});

describe('closing', () => {
  it('ends what is under way, and gives up the connections', async () => {
    cluster.script('Metadata', 'silence');
    const describing = admin.topics();
    describing.catch(() => undefined);
    await runtime.settle();
    await Promise.all([admin.close(), admin.close()]);
    await expect(describing).rejects.toThrow(ClosedError);
    expect(cluster.closedLanes).toContain('admin:admin-1');
  });

  it('refuses whatever comes after it, a range included', async () => {
    await admin.close();
    await expect(admin.groups()).rejects.toThrow(ClosedError);
    const range = admin.readRange('orders', 0, 0, 1)[Symbol.asyncIterator]();
    await expect(range.next()).rejects.toThrow(ClosedError);
    expect(cluster.sent).toEqual([]);
  });
});
