import { silentLogger } from '../../port/silent-logger.js';
import { sleep, VirtualRuntime } from '../../runtime/index.js';
import { GroupCoordinator } from './group-coordinator.js';
import { leaveGroup } from './leave-group.js';
import { coordinatedBy } from './member-under-test.spec-support.js';
import { ScriptedCluster } from './scripted-cluster.spec-support.js';

describe('leaveGroup', () => {
  /** Returns the channels that are closed if the response to LeaveGroup takes this long. */
  async function channelsClosedBy(takesMs: number): Promise<readonly string[]> {
    const runtime = new VirtualRuntime();
    const cluster = new ScriptedCluster(runtime);
    const coordinator = new GroupCoordinator({ cluster, groupId: 'group', sessionId: 's1' });
    cluster.once('GroupCoordinator', coordinatedBy(1));
    cluster.once('LeaveGroup', async () => {
      await sleep(runtime, takesMs);
      return { errorCode: 0 };
    });
    const left = leaveGroup(coordinator, 'me', silentLogger);
    await runtime.advance(takesMs);
    await left;
    return [...cluster.closedChannels];
  }

  it('waits long enough for a broker that throttles the client', async () => {
    expect(await channelsClosedBy(1_300)).toEqual([]);
  });

  it('does not wait for a coordinator that does not respond', async () => {
    expect(await channelsClosedBy(2_000)).toEqual(['group:s1']);
  });
});
