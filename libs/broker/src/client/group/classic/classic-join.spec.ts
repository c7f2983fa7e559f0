import { decodeAssignment } from '../../../assignment/index.js';
import {
  AuthenticationError,
  AuthorizationError,
  InconsistentGroupProtocolError,
  RefusedError,
} from '../../../port/errors.js';
import { silentLogger } from '../../../port/silent-logger.js';
import {
  code,
  joinedAs,
  leadingAs,
  MemberUnderTest,
  orders,
  refusedJoin,
  SESSION_MS,
  synced,
  unreachable,
} from '../member-under-test.spec-support.js';

describe('ClassicMembership, joining an eager group', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('takes the member id from the coordinator, joins, syncs and reports its assignment', async () => {
    member = await new MemberUnderTest().join();
    expect(member.joins).toEqual(['', 'me']);
    expect(member.calls).toEqual(['assigned 0 1']);
    expect(member.states).toEqual(['joining', 'stable']);
    expect(member.membership.member.snapshot).toEqual({
      groupId: 'group',
      memberId: 'me',
      generation: 1,
      groupInstanceId: null,
      protocol: 'classic',
    });
    expect(member.membership.assignment).toEqual(orders(0, 1));
  });

  it('sends JoinGroup and SyncGroup on a separate connection and closes it afterwards', async () => {
    member = await new MemberUnderTest().join();
    const sent = member.cluster.sent.map(({ api, channel }) => `${api} ${channel}`);
    expect(sent.slice(-2)).toEqual(['JoinGroup join:s1', 'SyncGroup join:s1']);
    expect(member.cluster.closedChannels).toEqual(['join:s1']);
  });

  it('becomes stable without partitions if SyncGroup returns zero bytes (kafkajs #550)', async () => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', joinedAs('me', 1))
      .once('SyncGroup', { errorCode: 0, memberAssignment: Buffer.alloc(0) });
    member.membership.start();
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned']);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('assigns partitions for all members and all their topics if it is the leader', async () => {
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
    'retries with the same member id after code %i on JoinGroup (KAFKA-10870)',
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

  it.each([15, 16])('looks up the coordinator again after code %i', async (errorCode) => {
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
    'rejoins with the same member id after code %i on SyncGroup (KAFKA-13419)',
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

  it('joins as a new member after code 25 on SyncGroup', async () => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', joinedAs('me', 1), joinedAs('me-again', 2))
      .once('SyncGroup', code(25), synced(1));
    member.membership.start();
    await member.runtime.settle();
    expect(member.joins).toEqual(['', '']);
    expect(member.membership.member.snapshot.memberId).toBe('me-again');
  });

  it('backs off if the group has no coordinator (KAFKA-13917)', async () => {
    member = new MemberUnderTest();
    member.cluster.always('GroupCoordinator', code(15));
    member.membership.start();
    await member.runtime.advance(60_000);
    const lookups = member.cluster.requests('GroupCoordinator').length;
    expect(lookups).toBeGreaterThan(20);
    expect(lookups).toBeLessThan(80);
    expect(member.states).toEqual(expect.arrayContaining(['joining', 'retrying']));
  });

  it('backs off if every response is an error that allows an immediate retry', async () => {
    member = new MemberUnderTest();
    member.cluster.always('JoinGroup', refusedJoin(25));
    member.membership.start();
    await member.runtime.advance(60_000);
    expect(member.joins.length).toBeLessThan(80);
    member.cluster.always('JoinGroup', refusedJoin(14));
  });

  it('reports an unreachable cluster with the time of the first error, and keeps retrying', async () => {
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
  ])('advises what to do about code %i, and retries slowly', async (errorCode, type, advice) => {
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
  ])('fails without a retry: %s', async (_, answer, name) => {
    member = new MemberUnderTest();
    member.cluster.once('JoinGroup', answer);
    member.membership.start();
    await member.runtime.advance(60_000);
    expect(member.states).toEqual(['joining', 'failed']);
    expect(member.errors).toEqual([name]);
    await member.membership.whenSettled();
  });

  it('joins again after an unexpected error', async () => {
    member = new MemberUnderTest();
    member.cluster
      .once('JoinGroup', new TypeError('a bug'), joinedAs('me', 1))
      .once('SyncGroup', synced(0));
    member.membership.start();
    await member.runtime.advance(10_000);
    expect(member.errors).toEqual(['TypeError']);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('fails instead of retrying in a hot loop if no timer can be set', async () => {
    member = new MemberUnderTest();
    const { runtime } = member;
    const setTimer = runtime.setTimer.bind(runtime);
    let asked = 0;
    // After some failures the timers work again, so that a loop that never gives up fails this test
    // instead of hanging it.
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

  it('catches an error that a status listener throws', async () => {
    member = new MemberUnderTest();
    member.listener.onStatus = () => {
      throw new Error('of the user');
    };
    await member.join();
  });
});

describe('ClassicMembership, with a logger', () => {
  let member: MemberUnderTest;
  let lines: string[];
  beforeEach(() => {
    lines = [];
    const debug = (message: string): void => void lines.push(message);
    member = new MemberUnderTest({ logger: { ...silentLogger, debug } });
  });
  afterEach(() => member.close());

  it('logs a failure that lasts at once, and then at most once a minute', async () => {
    member.cluster.topics.delete('orders');
    member.membership.start();
    await member.runtime.advance(300_000);
    expect(member.errors.length).toBeGreaterThan(100);
    expect(lines[0]).toBe('The group could not be joined yet.');
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.length).toBeLessThanOrEqual(5);
  });

  it('logs no failure for MEMBER_ID_REQUIRED, which is a step of every join', async () => {
    member.cluster
      .once('JoinGroup', refusedJoin(79, 'me'), joinedAs('me', 1))
      .once('SyncGroup', synced(0));
    member.membership.start();
    await member.runtime.advance(1_000);
    expect(member.states.at(-1)).toBe('stable');
    expect(lines).toEqual([]);
  });
});

describe('ClassicMembership, with missing topics', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('waits without joining while none of its topics exists, and names the topic in its status', async () => {
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

  it('joins if some of its topics exist, and rejoins as the leader once the others exist', async () => {
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

  it('rejoins as the leader when partitions are added to a topic, but not as a follower', async () => {
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
    expect(member.membership.member.snapshot.generation).toBe(3);
    expect(member.calls.slice(-2)).toEqual(['revoked 0 1 2', 'assigned 0 1 2 3']);
  });

  it('ignores a topic that is missing in one lookup only', async () => {
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
