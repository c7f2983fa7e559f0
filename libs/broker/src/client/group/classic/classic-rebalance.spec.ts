import { Deferred } from '../../../runtime/index.js';
import {
  code,
  HEARTBEAT_MS,
  joinedAs,
  MemberUnderTest,
  REBALANCE_MS,
  SESSION_MS,
  synced,
  unreachable,
} from '../member-under-test.spec-support.js';

describe('ClassicMembership, sending heartbeats', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('sends a heartbeat at each interval, with its member id and generation', async () => {
    member = await new MemberUnderTest().join();
    await member.runtime.advance(HEARTBEAT_MS * 5);
    const heartbeats = member.cluster.requests('Heartbeat');
    expect(heartbeats).toHaveLength(5);
    expect(heartbeats[0]).toMatchObject({ memberId: 'me', generation: 1, channel: 'group:s1' });
  });

  it.each([
    [22, 'me'],
    [25, ''],
  ])(
    'loses the partitions without calling onRevoked after code %i, and joins with member id "%s"',
    async (errorCode, as) => {
      member = await new MemberUnderTest().join();
      member.cluster
        .once('Heartbeat', code(errorCode))
        .once('JoinGroup', joinedAs('me-2', 2))
        .once('SyncGroup', synced(1));
      await member.runtime.advance(HEARTBEAT_MS);
      expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 1']);
      expect(member.joins.at(-1)).toBe(as);
    },
  );

  it('fails permanently after code 82', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.once('Heartbeat', code(82));
    await member.runtime.advance(60_000);
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1']);
    expect(member.states.at(-1)).toBe('failed');
  });

  it.each([14, 15, 16, 30])(
    'reports code %i in the status until the next response, and keeps its partitions',
    async (errorCode) => {
      member = await new MemberUnderTest().join();
      member.cluster.once('Heartbeat', code(errorCode));
      await member.runtime.advance(HEARTBEAT_MS + 200);
      expect(member.states.slice(-2)).toEqual(['retrying', 'stable']);
      expect(member.calls).toEqual(['assigned 0 1']);
    },
  );

  it('cancels a heartbeat without a response after a third of the session timeout, and closes its connection', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.once('Heartbeat', () => new Deferred().promise);
    await member.runtime.advance(HEARTBEAT_MS + SESSION_MS / 3);
    expect(member.cluster.closedChannels).toContain('group:s1');
    await member.runtime.advance(200);
    expect(member.cluster.requests('GroupCoordinator')).toHaveLength(2);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('loses the partitions if no heartbeat is answered within the session timeout, and rejoins with its member id', async () => {
    member = await new MemberUnderTest().join();
    await member.runtime.advance(HEARTBEAT_MS);
    member.cluster.always('Heartbeat', unreachable);
    await member.runtime.advance(SESSION_MS - 1);
    expect(member.calls).toEqual(['assigned 0 1']);
    member.cluster.once('JoinGroup', joinedAs('me', 2)).once('SyncGroup', synced(0));
    await member.runtime.advance(1);
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 0']);
    expect(member.joins.at(-1)).toBe('me');
  });

  it.each([0, 22, 25, 27])(
    'ignores code %i in a response to an old generation (KAFKA-9823)',
    async (errorCode) => {
      member = await new MemberUnderTest().join();
      const late = new Deferred<object>();
      member.cluster.once('Heartbeat', () => late.promise);
      await member.runtime.advance(HEARTBEAT_MS);
      member.cluster.once('JoinGroup', joinedAs('me', 2)).once('SyncGroup', synced(0));
      member.membership.rejoin('of a test');
      await member.runtime.settle();
      late.resolve(code(errorCode));
      await member.runtime.settle();
      // The two remaining timers are the next heartbeat and the session timeout of the new
      // generation.
      expect(member.runtime.pendingTimers).toBe(2);
      await member.runtime.advance(HEARTBEAT_MS * 2);
      expect(member.membership.member.snapshot.generation).toBe(2);
      expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1', 'assigned 0']);
    },
  );
});

describe('ClassicMembership, during a rebalance', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  const nextGeneration = (): void =>
    void member.cluster.once('JoinGroup', joinedAs('me', 2)).once('SyncGroup', synced(1));

  it('revokes its partitions, rejoins with its member id, and assigns the new ones', async () => {
    member = await new MemberUnderTest().join();
    nextGeneration();
    await member.rebalance();
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1', 'assigned 1']);
    expect(member.joins).toEqual(['', 'me', 'me']);
    expect(member.states).toEqual(['joining', 'stable', 'joining', 'stable']);
  });

  it('keeps sending heartbeats during a revocation that takes longer than the session timeout (kafkajs #1720, KAFKA-10134)', async () => {
    member = await new MemberUnderTest().join();
    const handlers = new Deferred();
    member.listener.onRevoked = () => handlers.promise;
    await member.rebalance();
    member.cluster.always('Heartbeat', code(27));
    await member.runtime.advance(SESSION_MS * 2);
    expect(member.cluster.requests('Heartbeat').length).toBeGreaterThan(6);
    expect(member.joins).toHaveLength(2);
    expect(member.membership.member.snapshot.generation).toBe(1);
    nextGeneration();
    handlers.resolve();
    await member.runtime.settle();
    expect(member.calls.at(-1)).toBe('assigned 1');
    expect(member.calls).not.toContain('lost 0 1');
  });

  it('sends no heartbeat between JoinGroup and SyncGroup', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.once('JoinGroup', () => new Deferred().promise);
    await member.rebalance();
    const before = member.cluster.requests('Heartbeat').length;
    await member.runtime.advance(SESSION_MS);
    expect(member.cluster.requests('Heartbeat')).toHaveLength(before);
    expect(member.membership.assignment).toEqual([]);
    expect(member.membership.member.snapshot).toMatchObject({ memberId: '', generation: -1 });
  });

  it('loses the partitions and rejoins if onRevoked does not end within the rebalance timeout', async () => {
    member = await new MemberUnderTest().join();
    member.listener.onRevoked = () => new Deferred().promise;
    await member.rebalance();
    member.cluster.always('Heartbeat', ({ generation }) => code(generation === 1 ? 27 : 0));
    nextGeneration();
    await member.runtime.advance(REBALANCE_MS);
    const joinedAt = member.cluster.requests('JoinGroup').at(-1)?.at ?? 0;
    expect(joinedAt).toBeLessThan(REBALANCE_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1', 'lost 0 1', 'assigned 1']);
    expect(member.errors).toEqual(['FencedError']);
    expect(member.states.at(-1)).toBe('stable');
    member.listener = {};
  });

  it('measures the rebalance timeout for onRevoked from the last successful heartbeat, not from the notification', async () => {
    member = await new MemberUnderTest().join();
    await member.runtime.advance(HEARTBEAT_MS);
    member.listener.onRevoked = () => new Deferred().promise;
    await member.rebalance();
    member.cluster.always('Heartbeat', ({ generation }) => code(generation === 1 ? 27 : 0));
    nextGeneration();
    await member.runtime.advance(REBALANCE_MS);
    expect(member.cluster.requests('JoinGroup').at(-1)?.at).toBe(HEARTBEAT_MS + REBALANCE_MS * 0.9);
    member.listener = {};
  });

  it('loses the partitions at once if the group expels the member during onRevoked', async () => {
    member = await new MemberUnderTest().join();
    member.listener.onRevoked = () => new Deferred().promise;
    await member.rebalance();
    member.cluster.once('Heartbeat', code(25));
    nextGeneration();
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1', 'lost 0 1', 'assigned 1']);
    expect(member.joins.at(-1)).toBe('');
    member.listener = {};
  });

  it('does not call onRevoked if it owns no partitions', async () => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', joinedAs('me', 1), joinedAs('me', 2))
      .once('SyncGroup', synced(), synced(1));
    member.membership.start();
    await member.runtime.settle();
    await member.rebalance();
    expect(member.calls).toEqual(['assigned', 'assigned 1']);
  });
});
