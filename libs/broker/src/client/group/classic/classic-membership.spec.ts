import { Deferred } from '../../../runtime/index.js';
import {
  code,
  HEARTBEAT_MS,
  joinedAs,
  MemberUnderTest,
  orders,
  REBALANCE_MS,
  refusedJoin,
  synced,
} from '../member-under-test.spec-support.js';

describe('ClassicMembership, with a callback that throws', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());
  const ofTheUser = new Error('of the user');

  it('reports an error of onAssigned in the status until the next heartbeat', async () => {
    member = new MemberUnderTest();
    member.listener.onAssigned = () => Promise.reject(ofTheUser);
    member.cluster.once('JoinGroup', joinedAs('me', 1)).once('SyncGroup', synced(0));
    member.membership.start();
    await member.runtime.settle();
    expect(member.statuses.at(-1)).toMatchObject({ state: 'retrying', error: ofTheUser });
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('reports an error of onRevoked in the status and releases the partitions', async () => {
    member = await new MemberUnderTest().join();
    member.listener.onRevoked = () => Promise.reject(ofTheUser);
    member.cluster.once('JoinGroup', joinedAs('me', 2)).once('SyncGroup', synced(1));
    await member.rebalance();
    expect(member.states).toEqual(['joining', 'stable', 'joining', 'retrying', 'stable']);
    expect(member.calls.at(-1)).toBe('assigned 1');
    member.listener = {};
  });

  it('reports an error of onLost in the status and rejoins', async () => {
    member = await new MemberUnderTest().join();
    member.listener.onLost = () => Promise.reject(ofTheUser);
    member.cluster
      .once('Heartbeat', code(22))
      .once('JoinGroup', joinedAs('me', 2))
      .once('SyncGroup', synced(1));
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.statuses.at(-2)).toMatchObject({ state: 'retrying', error: ofTheUser });
    expect(member.states.at(-1)).toBe('stable');
  });
});

describe('ClassicMembership, whose commit is answered by an expulsion', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it.each([
    [22, 'me'],
    [25, ''],
  ])(
    'loses the partitions after code %i, and joins at once with member id "%s" (franz-go 1.21.3)',
    async (errorCode, as) => {
      member = await new MemberUnderTest().join();
      member.cluster.once('JoinGroup', joinedAs('me-2', 2)).once('SyncGroup', synced(1));
      member.membership.member.reportExpelled(member.membership.member.snapshot, errorCode);
      await member.runtime.settle();
      expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 1']);
      expect(member.joins.at(-1)).toBe(as);
    },
  );

  it('ignores the expulsion if the commit had another generation or member id', async () => {
    member = await new MemberUnderTest().join();
    const { snapshot } = member.membership.member;
    member.membership.member.reportExpelled({ ...snapshot, generation: 0 }, 22);
    member.membership.member.reportExpelled({ ...snapshot, memberId: 'former' }, 25);
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1']);
  });

  it('does not own a partition in an older snapshot if it was lost in between (librdkafka #2782)', async () => {
    member = await new MemberUnderTest().join();
    const { snapshot } = member.membership.member;
    const [first = { topic: '', partition: -1 }, second = first] = orders(0, 1);
    expect(member.membership.member.owns(first, snapshot)).toBe(true);
    member.cluster.once('JoinGroup', joinedAs('me', 2)).once('SyncGroup', synced(0));
    await member.rebalance();
    expect(member.membership.member.owns(first, snapshot)).toBe(false);
    expect(member.membership.member.owns(first, member.membership.member.snapshot)).toBe(true);
    expect(member.membership.member.owns(second, member.membership.member.snapshot)).toBe(false);
  });
});

describe('ClassicMembership.close', () => {
  let member: MemberUnderTest;
  afterEach(() => member.cluster.verify());

  it('revokes its partitions while it is still a member, sends one LeaveGroup and closes its connections', async () => {
    member = await new MemberUnderTest().join();
    const handlers = new Deferred();
    member.listener.onRevoked = () => handlers.promise;
    const closing = member.membership.close();
    await member.runtime.advance(HEARTBEAT_MS * 2);
    expect(member.membership.member.snapshot.generation).toBe(1);
    expect(member.cluster.requests('Heartbeat')).toHaveLength(2);
    handlers.resolve();
    await Promise.all([closing, member.membership.close()]);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1']);
    expect(member.cluster.requests('LeaveGroup')).toMatchObject([{ memberId: 'me' }]);
    expect(member.cluster.closedChannels).toEqual(expect.arrayContaining(['join:s1', 'group:s1']));
    expect(member.states).toEqual(['joining', 'stable']);
    expect(member.runtime.pendingTimers).toBe(0);
  });

  it('leaves with its member id on the heartbeat connection while a join is pending', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.once('JoinGroup', () => new Deferred().promise);
    await member.rebalance();
    await member.membership.close();
    expect(member.cluster.requests('LeaveGroup')).toMatchObject([
      { memberId: 'me', channel: 'group:s1' },
    ]);
  });

  it('waits for a member id that is under way, so that the group does not wait for a missing member', async () => {
    member = new MemberUnderTest();
    const given = new Deferred<object>();
    member.cluster.once('JoinGroup', () => given.promise).once('LeaveGroup', code(0));
    member.membership.start();
    await member.runtime.settle();
    const closing = member.membership.close();
    await member.runtime.advance(100);
    given.resolve(refusedJoin(79, 'ghost'));
    await closing;
    expect(member.cluster.requests('LeaveGroup')).toMatchObject([{ memberId: 'ghost' }]);
  });

  it('ends within a fixed time if no broker responds', async () => {
    member = await new MemberUnderTest().join();
    const silence = (): Promise<unknown> => new Deferred().promise;
    member.cluster.always('Heartbeat', silence).always('LeaveGroup', silence);
    const closing = member.membership.close();
    await member.runtime.advance(3_000);
    await closing;
  });

  it('ends within a fixed time if no member id arrives', async () => {
    member = new MemberUnderTest();
    member.cluster.once('JoinGroup', () => new Deferred().promise);
    member.membership.start();
    await member.runtime.settle();
    const closing = member.membership.close();
    await member.runtime.advance(1_000);
    await closing;
    expect(member.cluster.requests('LeaveGroup')).toEqual([]);
  });

  it('ends within a fixed time if onRevoked does not end', async () => {
    member = await new MemberUnderTest().join();
    member.listener.onRevoked = () => new Deferred().promise;
    const closing = member.membership.close();
    await member.runtime.advance(REBALANCE_MS);
    await closing;
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1', 'lost 0 1']);
    expect(member.cluster.requests('LeaveGroup')).toHaveLength(1);
  });

  it('sends nothing if the membership was never started', async () => {
    member = new MemberUnderTest();
    await member.membership.close();
    member.membership.start();
    await member.runtime.settle();
    expect(member.cluster.sent).toEqual([]);
  });
});
