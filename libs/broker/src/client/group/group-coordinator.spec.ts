import {
  AuthorizationError,
  ClosedError,
  ConnectionError,
  RequestTimeoutError,
} from '../../port/errors.js';
import { Deferred, VirtualRuntime } from '../../runtime/index.js';
import { heartbeatRequest } from '../../wire/index.js';
import { GroupCoordinator } from './group-coordinator.js';
import { code, coordinatedBy } from './member-under-test.spec-support.js';
import { ScriptedCluster } from './scripted-cluster.spec-support.js';

const heartbeat = heartbeatRequest({ groupId: 'group', memberId: 'me', generation: 1 });

describe('GroupCoordinator', () => {
  const runtime = new VirtualRuntime();
  let cluster: ScriptedCluster;
  let coordinator: GroupCoordinator;

  beforeEach(() => {
    cluster = new ScriptedCluster(runtime);
    coordinator = new GroupCoordinator({ cluster, groupId: 'group', sessionId: 's1' });
  });
  afterEach(() => {
    cluster.verify();
    expect(runtime.pendingTimers).toBe(0);
  });

  it('sends one lookup for all callers, and caches the result', async () => {
    cluster.once('GroupCoordinator', coordinatedBy(2));
    expect(await Promise.all([coordinator.node(), coordinator.node()])).toEqual([2, 2]);
    expect(await coordinator.node()).toBe(2);
  });

  it('sends the lookup on the shared connection, so that no idle connection stays open', async () => {
    cluster.once('GroupCoordinator', coordinatedBy(2));
    await coordinator.node();
    expect(cluster.requests('GroupCoordinator')).toMatchObject([{ channel: 'control' }]);
  });

  it('connects to the address that the lookup returned, because a restarted coordinator may have a new one', async () => {
    const before = { id: 2, host: 'before', port: 1, rack: null };
    cluster.metadata.update({ brokers: [before], clusterId: null, controllerId: 2, topics: [] });
    cluster.once('GroupCoordinator', coordinatedBy(2));
    await coordinator.node();
    expect(cluster.metadata.brokers.get(2)).toMatchObject({ host: 'broker', port: 9092 });
  });

  it('drops the cached coordinator only if the caller names the current one', async () => {
    cluster.once('GroupCoordinator', coordinatedBy(1), coordinatedBy(2));
    await coordinator.node();
    coordinator.forget(1);
    await coordinator.node();
    coordinator.forget(1);
    expect(await coordinator.node()).toBe(2);
  });

  it('repeats the lookup for the next caller if it has failed', async () => {
    cluster.once('GroupCoordinator', code(15), code(30), coordinatedBy(1));
    await expect(coordinator.node()).rejects.toMatchObject({ retriable: true, brokerCode: 15 });
    await expect(coordinator.node()).rejects.toThrow(AuthorizationError);
    expect(await coordinator.node()).toBe(1);
  });

  it('drops the cached coordinator after a lost connection, but not after an error response', async () => {
    cluster.always('GroupCoordinator', coordinatedBy(1));
    cluster.once('Heartbeat', code(25), new ConnectionError('gone'), code(0));
    await coordinator.request('group:s1', heartbeat);
    expect(cluster.requests('GroupCoordinator')).toHaveLength(1);
    await expect(coordinator.request('group:s1', heartbeat)).rejects.toThrow(ConnectionError);
    await coordinator.request('group:s1', heartbeat);
    expect(cluster.requests('GroupCoordinator')).toHaveLength(2);
  });

  it('starts the request timeout at the call, includes the lookup in it, and closes the connection when it expires', async () => {
    cluster.once('GroupCoordinator', () => new Deferred().promise);
    const asked = coordinator.request('group:s1', heartbeat, { timeoutMs: 500 });
    asked.catch(() => undefined);
    await runtime.advance(500);
    await expect(asked).rejects.toThrow(RequestTimeoutError);
    expect(cluster.closedChannels).toEqual(['group:s1']);
    expect(cluster.requests('Heartbeat')).toEqual([]);
  });

  it('rejects with the reason of the signal if it aborts', async () => {
    cluster.always('GroupCoordinator', coordinatedBy(1));
    cluster.once('Heartbeat', () => new Deferred().promise);
    const control = new AbortController();
    const asked = coordinator.request('group:s1', heartbeat, { signal: control.signal });
    asked.catch(() => undefined);
    await runtime.settle();
    control.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await expect(
      coordinator.request('group:s1', heartbeat, { signal: control.signal }),
    ).rejects.toThrow('enough');
  });

  it('sends nothing once it is closed', async () => {
    coordinator.close();
    await expect(coordinator.request('group:s1', heartbeat)).rejects.toThrow(ClosedError);
    expect(cluster.sent).toEqual([]);
  });
});
