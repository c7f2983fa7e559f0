import { decodeAssignment } from '../../../assignment/index.js';
import {
  AuthenticationError,
  AuthorizationError,
  ConnectionError,
  InconsistentGroupProtocolError,
  RefusedError,
} from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import {
  code,
  HEARTBEAT_MS,
  joinedAs,
  leadingAs,
  MemberUnderTest,
  orders,
  REBALANCE_MS,
  refusedJoin,
  SESSION_MS,
  synced,
} from '../member-under-test.spec-support.js';

const unreachable = new ConnectionError('No broker could be reached.');

describe('joining an eager group', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('takes the id it is given, then joins, syncs and is told its share', async () => {
    member = await new MemberUnderTest().join();
    expect(member.joins).toEqual(['', 'me']);
    expect(member.calls).toEqual(['assigned 0 1']);
    expect(member.states).toEqual(['joining', 'stable']);
    expect(member.membership.snapshot).toEqual({
      groupId: 'group',
      memberId: 'me',
      generation: 1,
      groupInstanceId: null,
      protocol: 'classic',
    });
    expect(member.membership.assignment).toEqual(orders(0, 1));
  });

  it('joins and syncs on a lane of their own, closed afterwards', async () => {
    member = await new MemberUnderTest().join();
    const lanes = member.cluster.sent.map(({ api, channel: lane }) => `${api} ${lane}`);
    expect(lanes.slice(-2)).toEqual(['JoinGroup join:s1', 'SyncGroup join:s1']);
    expect(member.cluster.closedChannels).toEqual(['join:s1']);
  });

  it('is stable without partitions when the leader left it out with zero bytes (kafkajs #550)', async () => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', joinedAs('me', 1))
      .once('SyncGroup', { errorCode: 0, memberAssignment: Buffer.alloc(0) });
    member.membership.start();
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned']);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('as the leader plans for all members and all their topics', async () => {
    member = new MemberUnderTest();
    member.cluster.topics.set('payments', 1);
    member.cluster
      .once('JoinGroup', leadingAs('me', 1, { me: ['orders'], other: ['payments', 'nowhere'] }))
      .once('SyncGroup', synced(0, 1));
    member.membership.start();
    await member.runtime.settle();
    const [{ shares } = { shares: [] }] = member.cluster.requests('SyncGroup');
    const plan = Object.fromEntries(
      shares.map(({ memberId, assignment }) => [memberId, decodeAssignment(assignment)]),
    );
    expect(plan).toEqual({ me: orders(0, 1), other: [{ topic: 'payments', partition: 0 }] });
  });

  it.each([14, 15, 16, 27])(
    'tries again with the same id after %i on JoinGroup (KAFKA-10870)',
    async (errorCode) => {
      member = new MemberUnderTest();
      member.cluster
        .once('JoinGroup', refusedJoin(79, 'me'), refusedJoin(errorCode), joinedAs('me', 1))
        .once('SyncGroup', synced(0));
      member.membership.start();
      await member.runtime.advance(200);
      expect(member.joins).toEqual(['', 'me', 'me']);
      expect(member.states).toEqual(['joining', 'stable']);
    },
  );

  it.each([15, 16])('looks for the coordinator again after %i', async (errorCode) => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', refusedJoin(errorCode), joinedAs('me', 1))
      .once('SyncGroup', code(errorCode))
      .once('JoinGroup', joinedAs('me', 2))
      .once('SyncGroup', synced(0));
    member.membership.start();
    await member.runtime.advance(500);
    expect(member.cluster.requests('GroupCoordinator')).toHaveLength(3);
    expect(member.states).toEqual(['joining', 'stable']);
  });

  it.each([14, 22, 23, 27])(
    'joins again with the id it has after %i on SyncGroup (KAFKA-13419)',
    async (errorCode) => {
      member = new MemberUnderTest();
      member.cluster
        .once('JoinGroup', joinedAs('me', 1), joinedAs('me', 2))
        .once('SyncGroup', code(errorCode), synced(1));
      member.membership.start();
      await member.runtime.settle();
      expect(member.joins).toEqual(['', 'me']);
      expect(member.calls).toEqual(['assigned 1']);
    },
  );

  it('joins as a new member after 25 on SyncGroup', async () => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', joinedAs('me', 1), joinedAs('me-again', 2))
      .once('SyncGroup', code(25), synced(1));
    member.membership.start();
    await member.runtime.settle();
    expect(member.joins).toEqual(['', '']);
    expect(member.membership.snapshot.memberId).toBe('me-again');
  });

  it('does not spin while there is no coordinator (KAFKA-13917)', async () => {
    member = new MemberUnderTest();
    member.cluster.always('GroupCoordinator', code(15));
    member.membership.start();
    await member.runtime.advance(60_000);
    const lookups = member.cluster.requests('GroupCoordinator').length;
    expect(lookups).toBeGreaterThan(20);
    expect(lookups).toBeLessThan(80);
    expect(member.states).toEqual(expect.arrayContaining(['joining', 'retrying']));
  });

  it('does not spin when every answer asks for another try at once', async () => {
    member = new MemberUnderTest();
    member.cluster.always('JoinGroup', refusedJoin(25));
    member.membership.start();
    await member.runtime.advance(60_000);
    expect(member.joins.length).toBeLessThan(80);
    member.cluster.always('JoinGroup', refusedJoin(14));
  });

  it('reports an unreachable cluster, since when, and goes on trying', async () => {
    member = new MemberUnderTest();
    member.cluster.metadataError = unreachable;
    const since = member.runtime.now();
    member.membership.start();
    await member.runtime.advance(600_000);
    expect(member.statuses.at(-1)).toEqual({ state: 'retrying', since, error: unreachable });
    member.cluster.metadataError = undefined;
    member.cluster.once('JoinGroup', joinedAs('me', 1)).once('SyncGroup', synced(0));
    await member.runtime.advance(2_000);
    expect(member.states.at(-1)).toBe('stable');
  });

  it.each([
    [23, InconsistentGroupProtocolError, 'range'],
    [24, RefusedError, 'groupId'],
    [26, RefusedError, `${SESSION_MS}`],
    [30, AuthorizationError, 'Read group "group"'],
    [81, RefusedError, 'group.max.size'],
  ])('says what to do about %i, and knocks slowly', async (errorCode, type, advice) => {
    member = new MemberUnderTest();
    member.cluster.always('JoinGroup', refusedJoin(errorCode));
    member.membership.start();
    await member.runtime.advance(60_000);
    const status = member.statuses.at(-1);
    expect(status?.state).toBe('retrying');
    expect(status).toMatchObject({ error: { brokerCode: errorCode } });
    expect(status && 'error' in status && status.error).toBeInstanceOf(type);
    expect(status && 'error' in status && status.error.message).toContain(advice);
    expect(member.joins.length).toBeGreaterThan(5);
    expect(member.joins.length).toBeLessThan(20);
  });

  it.each([
    ['a fenced static member', refusedJoin(82), 'StaticMemberFencedError'],
    ['wrong credentials', new AuthenticationError('no'), 'AuthenticationError'],
  ])('gives up for good: %s', async (_, answer, name) => {
    member = new MemberUnderTest();
    member.cluster.once('JoinGroup', answer);
    member.membership.start();
    await member.runtime.advance(60_000);
    expect(member.states).toEqual(['joining', 'failed']);
    expect(member.errors).toEqual([name]);
    await member.membership.whenSettled();
  });

  it('survives what should not happen', async () => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', new TypeError('a bug'), joinedAs('me', 1))
      .once('SyncGroup', synced(0));
    member.membership.start();
    await member.runtime.advance(10_000);
    expect(member.errors).toEqual(['TypeError']);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('fails instead of trying on without a pause, when there is no timer to pause with', async () => {
    member = new MemberUnderTest();
    const { runtime } = member;
    const setTimer = runtime.setTimer.bind(runtime);
    let asked = 0;
    // A loop that does not give up gets its timers in the end, so that this case cannot hang.
    runtime.setTimer = (callback, delayMs) => {
      if (++asked <= 50) throw new TypeError('no timers here');
      return setTimer(callback, delayMs);
    };
    member.membership.start();
    await runtime.settle();
    expect(asked).toBeLessThan(10);
    expect(member.states.at(-1)).toBe('failed');
    runtime.setTimer = setTimer;
  });

  it('survives a status listener that throws', async () => {
    member = new MemberUnderTest();
    member.listener.onStatus = () => {
      throw new Error('of the user');
    };
    await member.join();
  });
});

describe('topics that are missing', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('without any of its topics the member waits, named by status, and does not join', async () => {
    member = new MemberUnderTest();
    member.cluster.topics.delete('orders');
    member.membership.start();
    await member.runtime.advance(30_000);
    expect(member.errors).toContain('UnknownTopicError');
    expect(member.joins).toEqual([]);
    member.cluster.topics.set('orders', 1);
    member.cluster.once('JoinGroup', joinedAs('me', 1)).once('SyncGroup', synced(0));
    await member.runtime.advance(2_000);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('with some of them it joins, and as the leader joins again when the others appear', async () => {
    const topics = ['orders', 'later'];
    member = new MemberUnderTest({ topics });
    member.cluster
      .once('JoinGroup', leadingAs('me', 1, { me: topics }), leadingAs('me', 2, { me: topics }))
      .once('SyncGroup', synced(0, 1), synced(0, 1));
    member.membership.start();
    await member.runtime.advance(30_000);
    expect(member.errors).toEqual(['UnknownTopicError']);
    expect(member.states).toEqual(['joining', 'retrying', 'stable']);
    member.cluster.topics.set('later', 3);
    await member.runtime.advance(5_000);
    const [, second] = member.cluster.requests('SyncGroup');
    expect(decodeAssignment(second?.shares[0]?.assignment ?? Buffer.alloc(0))).toHaveLength(5);
  });

  it('a leader joins again when a topic grows, a follower leaves that to it', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.topics.set('orders', 3);
    await member.runtime.advance(120_000);
    expect(member.joins).toHaveLength(2);

    member.cluster
      .once(
        'JoinGroup',
        leadingAs('me', 2, { me: ['orders'] }),
        leadingAs('me', 3, { me: ['orders'] }),
      )
      .once('SyncGroup', synced(0, 1, 2), synced(0, 1, 2, 3));
    await member.rebalance();
    member.cluster.topics.set('orders', 4);
    await member.runtime.advance(61_000);
    expect(member.membership.snapshot.generation).toBe(3);
    expect(member.calls.slice(-2)).toEqual(['revoked 0 1 2', 'assigned 0 1 2 3']);
  });

  it('a topic that vanishes for one look only is no reason to join again', async () => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', leadingAs('me', 1, { me: ['orders'] }))
      .once('SyncGroup', synced(0, 1));
    member.membership.start();
    await member.runtime.advance(59_000);
    member.cluster.topics.delete('orders');
    await member.runtime.advance(1_000);
    member.cluster.topics.set('orders', 2);
    await member.runtime.advance(120_000);
    expect(member.joins).toHaveLength(1);
  });
});

describe('heartbeats', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('go at their interval, as the member of this generation', async () => {
    member = await new MemberUnderTest().join();
    await member.runtime.advance(HEARTBEAT_MS * 5);
    const beats = member.cluster.requests('Heartbeat');
    expect(beats).toHaveLength(5);
    expect(beats[0]).toMatchObject({ memberId: 'me', generation: 1, lane: 'group:s1' });
  });

  it.each([
    [22, 'me'],
    [25, ''],
  ])(
    '%i: the partitions are lost without revocation, and it joins as "%s"',
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

  it('82: it ends for good', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.once('Heartbeat', code(82));
    await member.runtime.advance(60_000);
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1']);
    expect(member.states.at(-1)).toBe('failed');
  });

  it.each([14, 15, 16, 30])(
    '%i: trouble until the next one is answered, and nothing is lost',
    async (errorCode) => {
      member = await new MemberUnderTest().join();
      member.cluster.once('Heartbeat', code(errorCode));
      await member.runtime.advance(HEARTBEAT_MS + 200);
      expect(member.states.slice(-2)).toEqual(['retrying', 'stable']);
      expect(member.calls).toEqual(['assigned 0 1']);
    },
  );

  it('one without an answer is given up after a third of the session, and its connection with it', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.once('Heartbeat', () => new Deferred().promise);
    await member.runtime.advance(HEARTBEAT_MS + SESSION_MS / 3);
    expect(member.cluster.closedChannels).toContain('group:s1');
    await member.runtime.advance(200);
    expect(member.cluster.requests('GroupCoordinator')).toHaveLength(2);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('a session time-out without an answer ends the lease: lost, then joined with the known id', async () => {
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
    '%i in an answer to an old generation is ignored (KAFKA-9823)',
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
      // The next heartbeat and the lease: nothing of the old generation is left.
      expect(member.runtime.pendingTimers).toBe(2);
      await member.runtime.advance(HEARTBEAT_MS * 2);
      expect(member.membership.snapshot.generation).toBe(2);
      expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1', 'assigned 0']);
    },
  );
});

describe('a rebalance', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  const nextGeneration = (): void =>
    void member.cluster.once('JoinGroup', joinedAs('me', 2)).once('SyncGroup', synced(1));

  it('revokes, joins again with the known id, and assigns', async () => {
    member = await new MemberUnderTest().join();
    nextGeneration();
    await member.rebalance();
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1', 'assigned 1']);
    expect(member.joins).toEqual(['', 'me', 'me']);
    expect(member.states).toEqual(['joining', 'stable', 'joining', 'stable']);
  });

  it('waits for a revocation longer than the session, with heartbeats all the while (kafkajs #1720, KAFKA-10134)', async () => {
    member = await new MemberUnderTest().join();
    const handlers = new Deferred();
    member.listener.onRevoked = () => handlers.promise;
    await member.rebalance();
    member.cluster.always('Heartbeat', code(27));
    await member.runtime.advance(SESSION_MS * 2);
    expect(member.cluster.requests('Heartbeat').length).toBeGreaterThan(6);
    expect(member.joins).toHaveLength(2);
    expect(member.membership.snapshot.generation).toBe(1);
    nextGeneration();
    handlers.resolve();
    await member.runtime.settle();
    expect(member.calls.at(-1)).toBe('assigned 1');
    expect(member.calls).not.toContain('lost 0 1');
  });

  it('sends no heartbeat between the join and the sync', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.once('JoinGroup', () => new Deferred().promise);
    await member.rebalance();
    const before = member.cluster.requests('Heartbeat').length;
    await member.runtime.advance(SESSION_MS);
    expect(member.cluster.requests('Heartbeat')).toHaveLength(before);
    expect(member.membership.assignment).toEqual([]);
    expect(member.membership.snapshot).toMatchObject({ memberId: '', generation: -1 });
  });

  it('goes on without a host that does not hand back in time: its partitions are lost', async () => {
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

  it('counts the time to hand back from the last quiet heartbeat, not from when it heard', async () => {
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

  it('is over at once when the group has put us out meanwhile: lost, whatever the host still does', async () => {
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

  it('tells nothing of a revocation to a host that has nothing', async () => {
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

describe('a callback that throws', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());
  const ofTheUser = new Error('of the user');

  it('onAssigned: it is reported, and over with the next heartbeat', async () => {
    member = new MemberUnderTest();
    member.listener.onAssigned = () => Promise.reject(ofTheUser);
    member.cluster.once('JoinGroup', joinedAs('me', 1)).once('SyncGroup', synced(0));
    member.membership.start();
    await member.runtime.settle();
    expect(member.statuses.at(-1)).toMatchObject({ state: 'retrying', error: ofTheUser });
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('onRevoked: it is reported, and the partitions are handed over', async () => {
    member = await new MemberUnderTest().join();
    member.listener.onRevoked = () => Promise.reject(ofTheUser);
    member.cluster.once('JoinGroup', joinedAs('me', 2)).once('SyncGroup', synced(1));
    await member.rebalance();
    expect(member.states).toEqual(['joining', 'stable', 'joining', 'retrying', 'stable']);
    expect(member.calls.at(-1)).toBe('assigned 1');
    member.listener = {};
  });

  it('onLost: it is reported, and the member joins again', async () => {
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

describe('being expelled, by the answer to a commit', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it.each([
    [22, 'me'],
    [25, ''],
  ])('%i: lost, and joined at once as "%s" (franz-go 1.21.3)', async (errorCode, as) => {
    member = await new MemberUnderTest().join();
    member.cluster.once('JoinGroup', joinedAs('me-2', 2)).once('SyncGroup', synced(1));
    member.membership.reportExpelled(member.membership.snapshot, errorCode);
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 1']);
    expect(member.joins.at(-1)).toBe(as);
  });

  it('an answer to another snapshot is ignored', async () => {
    member = await new MemberUnderTest().join();
    const { snapshot } = member.membership;
    member.membership.reportExpelled({ ...snapshot, generation: 0 }, 22);
    member.membership.reportExpelled({ ...snapshot, memberId: 'former' }, 25);
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1']);
  });

  it('what was ours in another generation is not ours any more, even when it is again (librdkafka #2782)', async () => {
    member = await new MemberUnderTest().join();
    const { snapshot } = member.membership;
    const [first = { topic: '', partition: -1 }, second = first] = orders(0, 1);
    expect(member.membership.owns(first, snapshot)).toBe(true);
    member.cluster.once('JoinGroup', joinedAs('me', 2)).once('SyncGroup', synced(0));
    await member.rebalance();
    expect(member.membership.owns(first, snapshot)).toBe(false);
    expect(member.membership.owns(first, member.membership.snapshot)).toBe(true);
    expect(member.membership.owns(second, member.membership.snapshot)).toBe(false);
  });
});

describe('closing', () => {
  let member: MemberUnderTest;
  afterEach(() => member.cluster.verify());

  it('revokes while still a member, leaves once, and closes its lanes', async () => {
    member = await new MemberUnderTest().join();
    const handlers = new Deferred();
    member.listener.onRevoked = () => handlers.promise;
    const closing = member.membership.close();
    await member.runtime.advance(HEARTBEAT_MS * 2);
    expect(member.membership.snapshot.generation).toBe(1);
    expect(member.cluster.requests('Heartbeat')).toHaveLength(2);
    handlers.resolve();
    await Promise.all([closing, member.membership.close()]);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1']);
    expect(member.cluster.requests('LeaveGroup')).toMatchObject([{ memberId: 'me' }]);
    expect(member.cluster.closedChannels).toEqual(expect.arrayContaining(['join:s1', 'group:s1']));
    expect(member.states).toEqual(['joining', 'stable']);
    expect(member.runtime.pendingTimers).toBe(0);
  });

  it('leaves by the known id, on the other lane, while a join is pending', async () => {
    member = await new MemberUnderTest().join();
    member.cluster.once('JoinGroup', () => new Deferred().promise);
    await member.rebalance();
    await member.membership.close();
    expect(member.cluster.requests('LeaveGroup')).toMatchObject([
      { memberId: 'me', lane: 'group:s1' },
    ]);
  });

  it('takes the id that is on its way, or the group would wait for a ghost', async () => {
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

  it('is bounded when nothing answers', async () => {
    member = await new MemberUnderTest().join();
    const silence = (): Promise<unknown> => new Deferred().promise;
    member.cluster.always('Heartbeat', silence).always('LeaveGroup', silence);
    const closing = member.membership.close();
    await member.runtime.advance(3_000);
    await closing;
  });

  it('is bounded when no id comes either', async () => {
    member = new MemberUnderTest();
    member.cluster.once('JoinGroup', () => new Deferred().promise);
    member.membership.start();
    await member.runtime.settle();
    const closing = member.membership.close();
    await member.runtime.advance(1_000);
    await closing;
    expect(member.cluster.requests('LeaveGroup')).toEqual([]);
  });

  it('is bounded when the host does not hand back', async () => {
    member = await new MemberUnderTest().join();
    member.listener.onRevoked = () => new Deferred().promise;
    const closing = member.membership.close();
    await member.runtime.advance(REBALANCE_MS);
    await closing;
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1', 'lost 0 1']);
    expect(member.cluster.requests('LeaveGroup')).toHaveLength(1);
  });

  it('before it was ever started asks nobody', async () => {
    member = new MemberUnderTest();
    await member.membership.close();
    member.membership.start();
    await member.runtime.settle();
    expect(member.cluster.sent).toEqual([]);
  });
});
