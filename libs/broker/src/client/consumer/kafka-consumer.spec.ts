import { silentLogger } from '../../port/silent-logger.js';
import { validateConsumerOptions } from '../../port/validate-consumer-options.js';
import { Deferred, VirtualRuntime } from '../../runtime/index.js';
import { code, coordinatedBy, joinedAs, synced } from '../group/member-under-test.spec-support.js';
import { ScriptedCluster } from '../group/scripted-cluster.spec-support.js';
import type { Cluster } from '../../wire/index.js';
import { KafkaConsumer } from './kafka-consumer.js';
import { PrefetchBudget } from './fetching/prefetch-budget.js';

const committed = { offset: 5, leaderEpoch: -1, metadata: null };

/** Creates a session that reads orders/0 on a scripted cluster. */
async function joined() {
  const runtime = new VirtualRuntime();
  const cluster = new ScriptedCluster(runtime)
    .always('GroupCoordinator', coordinatedBy(1))
    .always('JoinGroup', joinedAs('me', 1))
    .always('SyncGroup', synced(0))
    .always('Heartbeat', code(0))
    .always('LeaveGroup', code(0))
    .always('OffsetFetch', {
      code: 0,
      offsets: [{ topic: 'orders', partition: 0, code: 0, committed }],
    })
    .always('Fetch', () => new Deferred().promise);
  const calls: string[] = [];
  const session = new KafkaConsumer({
    cluster: cluster as unknown as Cluster,
    sessionId: 's1',
    options: validateConsumerOptions(
      { groupId: 'group', topics: ['orders'], assignors: ['range'] },
      { assignors: ['range'] },
    ),
    metadataMaxAgeMs: 10_000,
    rackId: undefined,
    share: new PrefetchBudget(1024 * 1024).join(),
    logger: silentLogger,
    onFallback: () => undefined,
    onClosed: () => undefined,
  });
  const record = (what: string) => () => void calls.push(what);
  const [onAssigned, onRevoked, onLost] = ['assigned', 'revoked', 'lost'].map(record);
  const started = session.start({
    onAssigned: onAssigned as () => void,
    onRevoked: onRevoked as () => void,
    onLost: onLost as () => void,
  });
  await runtime.settle();
  await started;
  return { runtime, cluster, session, calls };
}

describe('KafkaConsumer, after an unexpected error in the fetcher', () => {
  it('fails, reports its partitions as lost and leaves the group at once', async () => {
    const { runtime, cluster, session, calls } = await joined();
    expect([calls, session.status.state]).toEqual([['assigned'], 'stable']);
    cluster.metadata.leader = () => {
      throw new TypeError('a mistake');
    };
    // The seek wakes the fetcher.
    session.seek({ topic: 'orders', partition: 0 }, 0);
    await runtime.settle();
    expect(session.status).toMatchObject({ state: 'failed', error: { message: 'a mistake' } });
    expect(calls).toEqual(['assigned', 'lost']);
    expect(cluster.requests('LeaveGroup')).toHaveLength(1);
    const { length: heartbeats } = cluster.requests('Heartbeat');
    await runtime.advance(60_000);
    expect(cluster.requests('Heartbeat')).toHaveLength(heartbeats);
    await expect(session.poll(1)).rejects.toThrow('a mistake');
    await session.close();
    expect(session.status.state).toBe('closed');
    expect(runtime.pendingTimers).toBe(0);
  });
});
