import { Deferred } from '../../../runtime/index.js';
import {
  code,
  HEARTBEAT_MS,
  joinedAs,
  leadingAs,
  MemberUnderTest,
  refusedJoin,
  synced,
} from '../member-under-test.spec-support.js';

async function joined(): Promise<MemberUnderTest> {
  const member = new MemberUnderTest({ groupInstanceId: 'pod-1' });
  member.cluster.once('JoinGroup', joinedAs('pod-1-a', 1)).once('SyncGroup', synced(0, 1));
  member.membership.start();
  await member.runtime.settle();
  return member;
}

describe('ClassicMembership, as a static member', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('sends its instance id in every request', async () => {
    member = await joined();
    await member.runtime.advance(HEARTBEAT_MS);
    const asked = member.cluster.sent.filter(({ api }) => api !== 'GroupCoordinator');
    expect(asked.map(({ api }) => api)).toEqual(['JoinGroup', 'SyncGroup', 'Heartbeat']);
    expect(new Set(asked.map(({ instanceId }) => instanceId))).toEqual(new Set(['pod-1']));
    expect(member.membership.member.snapshot.groupInstanceId).toBe('pod-1');
  });

  it('calls onRevoked at its close, but does not leave the group', async () => {
    member = await joined();
    await member.membership.close();
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1']);
    expect(member.cluster.requests('LeaveGroup')).toEqual([]);
  });

  it.each([
    ['a heartbeat', () => member.cluster.once('Heartbeat', code(82))],
    [
      'a commit',
      () => member.membership.member.reportExpelled(member.membership.member.snapshot, 82),
    ],
    [
      'a join',
      () => {
        member.cluster.once('JoinGroup', refusedJoin(82));
        member.membership.rejoin('of a test');
      },
    ],
  ])(
    'fails with advice if %s reports that another member took over its instance id',
    async (_, receive) => {
      member = await joined();
      receive();
      await member.runtime.advance(60_000);
      expect(member.states.at(-1)).toBe('failed');
      expect(member.statuses.at(-1)).toMatchObject({
        error: {
          name: 'StaticMemberFencedError',
          message: expect.stringContaining('"pod-1"') as unknown,
        },
      });
      expect(member.joins.length).toBeLessThanOrEqual(2);
    },
  );

  it('keeps the previous assignment if it returns as the leader, but watches the topics for changes (KIP-814)', async () => {
    member = new MemberUnderTest({ groupInstanceId: 'pod-1' });
    const leading = leadingAs('pod-1-b', 4, { 'pod-1-b': ['orders'] });
    member.cluster
      .once('JoinGroup', { ...leading, skipAssignment: true })
      .once('SyncGroup', synced(0, 1));
    member.membership.start();
    await member.runtime.settle();
    expect(member.cluster.requests('SyncGroup')[0]?.shares).toEqual([]);
    expect(member.calls).toEqual(['assigned 0 1']);
    member.cluster.topics.set('orders', 3);
    const answer = new Deferred<object>();
    member.cluster.once('JoinGroup', () => answer.promise);
    await member.runtime.advance(61_000);
    expect(member.joins).toEqual(['', 'pod-1-b']);
    answer.resolve(joinedAs('pod-1-b', 5));
    member.cluster.once('SyncGroup', synced(0, 1, 2));
    await member.runtime.settle();
  });
});
