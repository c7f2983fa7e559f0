import { silentLogger } from '../../port/silent-logger.js';
import { sleep, VirtualRuntime } from '../../runtime/index.js';
import { GroupCoordinator } from './group-coordinator.js';
import { leaveGroup } from './leave-group.js';
import { coordinatedBy } from './member-under-test.spec-support.js';
import { ScriptedCluster } from './scripted-cluster.spec-support.js';

describe('a member that leaves', () => {
  /** The lanes that were closed on a leave that takes so long. */
  async function lanesClosedBy(takesMs: number): Promise<readonly string[]> {
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

  it('tells the group also behind an answer after which the broker wants a rest', async () => {
    expect(await lanesClosedBy(1_300)).toEqual([]);
  });

  it('does not wait for a coordinator that is silent', async () => {
    expect(await lanesClosedBy(2_000)).toEqual(['group:s1']);
  });
});
