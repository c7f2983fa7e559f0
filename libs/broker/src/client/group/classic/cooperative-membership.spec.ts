import { FencedError } from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import {
  code,
  commitAnsweredWith,
  HEARTBEAT_MS,
  joinedAs,
  MemberUnderTest,
  orders,
  REBALANCE_MS,
  refusedJoin,
  SESSION_MS,
  synced,
} from '../member-under-test.spec-support.js';

const assignors = ['cooperative-sticky', 'range'] as const;
const joinedInGeneration = (generation: number) => joinedAs('me', generation, 'cooperative-sticky');
const [first = { topic: '', partition: -1 }, second = first] = orders(0, 1);

/** Creates a member of generation 1 that owns orders/0 and /1. */
async function cooperative(): Promise<MemberUnderTest> {
  const member = new MemberUnderTest({ assignors });
  member.cluster.once('JoinGroup', joinedInGeneration(1)).once('SyncGroup', synced(0, 1));
  member.membership.start();
  await member.runtime.settle();
  expect(member.states.at(-1)).toBe('stable');
  return member;
}

/**
 * Starts a rebalance by a heartbeat response. The caller answers the join by resolving the returned
 * object.
 */
async function rejoining(member: MemberUnderTest): Promise<Deferred<object>> {
  const answer = new Deferred<object>();
  member.cluster.once('JoinGroup', () => answer.promise);
  member.cluster.always('Heartbeat', code(27));
  await member.runtime.advance(HEARTBEAT_MS);
  expect(member.joins).toHaveLength(2);
  member.cluster.always('Heartbeat', ({ generation }) => code(generation === 1 ? 27 : 0));
  return answer;
}

describe('ClassicMembership, during a cooperative rebalance', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('rejoins at once with its partitions and calls no callback of the listener', async () => {
    member = await cooperative();
    await rejoining(member);
    const [, join] = member.cluster.requests('JoinGroup');
    expect(join?.offers.get('cooperative-sticky')).toMatchObject({
      owned: orders(0, 1),
      generation: 1,
    });
    expect(join?.offers.get('range')).toMatchObject({ owned: [], generation: -1 });
    expect(member.calls).toEqual(['assigned 0 1']);
    expect(member.membership.assignment).toEqual(orders(0, 1));
    expect(member.states.at(-1)).toBe('joining');
  });

  it('keeps sending heartbeats of the old generation, and ignores codes 27 and 22 in their responses', async () => {
    member = await cooperative();
    const answer = await rejoining(member);
    await member.runtime.advance(SESSION_MS * 2);
    expect(member.cluster.requests('Heartbeat').length).toBeGreaterThan(5);
    member.cluster.always('Heartbeat', ({ generation }) => code(generation === 1 ? 22 : 0));
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.membership.member.snapshot).toMatchObject({ memberId: 'me', generation: 1 });
    member.cluster.once('SyncGroup', synced(0, 1));
    answer.resolve(joinedInGeneration(2));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1']);
    expect(member.statuses.at(-1)).toMatchObject({ state: 'stable', generation: 2 });
  });

  it('revokes only the removed partitions, and rejoins without them', async () => {
    member = await cooperative();
    const answer = await rejoining(member);
    const handlers = new Deferred();
    member.listener.onRevoked = () => handlers.promise;
    member.cluster.once('SyncGroup', synced(1));
    answer.resolve(joinedInGeneration(2));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0']);
    expect(member.membership.member.owns(first, member.membership.member.snapshot)).toBe(true);
    expect(member.joins).toHaveLength(2);
    member.cluster.once('JoinGroup', joinedInGeneration(3)).once('SyncGroup', synced(1));
    handlers.resolve();
    await member.runtime.settle();
    const join = member.cluster.requests('JoinGroup').at(-1);
    expect(join?.offers.get('cooperative-sticky')).toMatchObject({
      owned: orders(1),
      generation: 2,
    });
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0']);
    expect(member.membership.assignment).toEqual(orders(1));
    expect(member.states.at(-1)).toBe('stable');
  });

  it('assigns only the new partitions', async () => {
    member = await cooperative();
    const answer = await rejoining(member);
    member.cluster.once('SyncGroup', synced(0, 1, 2));
    answer.resolve(joinedInGeneration(2));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'assigned 2']);
  });

  it('calls onRevoked before onAssigned if one rebalance removes and adds partitions', async () => {
    member = await cooperative();
    const answer = await rejoining(member);
    member.cluster
      .once('SyncGroup', synced(1, 2))
      .once('JoinGroup', joinedInGeneration(3))
      .once('SyncGroup', synced(1, 2));
    answer.resolve(joinedInGeneration(2));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0', 'assigned 2']);
    expect(member.membership.assignment).toEqual(orders(1, 2));
  });

  it('keeps the last confirmed partitions if another rebalance starts before SyncGroup ends (KAFKA-13891)', async () => {
    member = await cooperative();
    const answer = await rejoining(member);
    member.cluster
      .once('SyncGroup', code(27))
      .once('JoinGroup', joinedInGeneration(3))
      .once('SyncGroup', synced(0, 1));
    answer.resolve(joinedInGeneration(2));
    await member.runtime.settle();
    const join = member.cluster.requests('JoinGroup').at(-1);
    expect(join?.offers.get('cooperative-sticky')).toMatchObject({
      owned: orders(0, 1),
      generation: 1,
    });
    expect(member.calls).toEqual(['assigned 0 1']);
  });

  it('sends heartbeats at a short interval after the rebalance, because a second one may follow', async () => {
    member = await cooperative();
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.cluster.requests('Heartbeat')).toHaveLength(6);
    await member.runtime.advance(60_000);
    expect(member.cluster.requests('Heartbeat').length).toBeLessThan(32);
  });

  it('calls onAssigned even without new partitions if it owns nothing', async () => {
    member = new MemberUnderTest({ assignors });
    member.cluster
      .once('JoinGroup', joinedInGeneration(1), joinedInGeneration(2))
      .once('SyncGroup', synced(), synced(1));
    member.membership.start();
    await member.runtime.settle();
    await member.rebalance();
    expect(member.calls).toEqual(['assigned', 'assigned 1']);
  });
});

describe('ClassicMembership, with partitions of a cooperative member', () => {
  let member: MemberUnderTest;
  afterEach(() => member.close());

  it('lets a commit succeed in the next generation if the partition was owned without interruption', async () => {
    member = await cooperative();
    const { snapshot } = member.membership.member;
    const answer = await rejoining(member);
    expect(member.membership.member.mayHaveNewGeneration(snapshot)).toBe(true);
    member.cluster
      .once('SyncGroup', synced(1))
      .once('JoinGroup', joinedInGeneration(3))
      .once('SyncGroup', synced(0, 1));
    answer.resolve(joinedInGeneration(2));
    await member.runtime.settle();
    expect(member.membership.member.snapshot.generation).toBe(3);
    expect(member.membership.member.mayHaveNewGeneration(snapshot)).toBe(true);
    expect(member.membership.member.mayHaveNewGeneration(member.membership.member.snapshot)).toBe(
      false,
    );
    expect(member.membership.member.owns(second, snapshot)).toBe(true);
    // The partition was revoked and assigned again, so an offset that was read before must not be
    // committed (librdkafka #2782).
    expect(member.membership.member.owns(first, snapshot)).toBe(false);
  });

  it('makes a commit wait for SyncGroup only after the response to JoinGroup', async () => {
    member = await cooperative();
    const answer = await rejoining(member);
    let settled = false;
    void member.membership.whenSettled().then(() => (settled = true));
    const share = new Deferred<object>();
    member.cluster.once('SyncGroup', () => share.promise);
    answer.resolve(joinedInGeneration(2));
    await member.runtime.settle();
    expect([settled, member.membership.member.snapshot.generation]).toEqual([false, 2]);
    share.resolve(synced(0, 1));
    await member.runtime.settle();
    expect(settled).toBe(true);
  });

  it('releases commits that wait for SyncGroup when the partitions are lost', async () => {
    member = await cooperative();
    await rejoining(member);
    let settled = false;
    void member.membership.whenSettled().then(() => (settled = true));
    member.cluster.once('JoinGroup', () => new Deferred().promise);
    member.membership.member.reportExpelled(member.membership.member.snapshot, 25);
    await member.runtime.settle();
    expect(member.calls.at(-1)).toBe('lost 0 1');
    expect(settled).toBe(true);
  });

  it.each([
    ['a cancelled join', 25, 'join'],
    ['a refused sync', 22, 'sync'],
  ] as const)('releases commits that wait for SyncGroup after %s', async (_, errorCode, step) => {
    member = await cooperative();
    const answer = await rejoining(member);
    let settled = false;
    void member.membership.whenSettled().then(() => (settled = true));
    if (step === 'sync') member.cluster.once('SyncGroup', code(errorCode));
    const rejoined = new Deferred<object>();
    member.cluster.once('JoinGroup', () => rejoined.promise);
    answer.resolve(step === 'join' ? refusedJoin(errorCode) : joinedInGeneration(2));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1']);
    expect(settled).toBe(true);
    member.cluster.once('SyncGroup', synced(1));
    rejoined.resolve(joinedAs('me', 3, 'cooperative-sticky'));
    await member.runtime.settle();
    expect(member.states.at(-1)).toBe('stable');
  });

  it('accepts commits of the new assignment after a join has failed during a commit', async () => {
    member = await cooperative();
    const committer = member.newCommitter();
    const answer = await rejoining(member);
    member.cluster.once('OffsetCommit', commitAnsweredWith(27));
    const outcomes: unknown[] = [];
    const commit = (offset: number): void =>
      void committer.commit([{ ...second, offset }]).then(
        () => outcomes.push('stored'),
        ({ name }: Error) => outcomes.push(name),
      );
    commit(7);
    await member.runtime.settle();
    member.cluster.once('JoinGroup', joinedAs('me-2', 3, 'cooperative-sticky'));
    member.cluster.once('SyncGroup', synced(0, 1));
    answer.resolve(refusedJoin(25));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 0 1']);
    member.cluster.once('OffsetCommit', commitAnsweredWith(0));
    commit(8);
    await member.runtime.advance(1_000);
    expect(outcomes).toEqual(['FencedError', 'stored']);
  });

  it.each([
    ['a heartbeat', () => member.cluster.once('Heartbeat', code(25))],
    [
      'a commit',
      () => member.membership.member.reportExpelled(member.membership.member.snapshot, 25),
    ],
  ])('loses the partitions if %s returns code 25 while the join is pending', async (_, receive) => {
    member = await cooperative();
    await rejoining(member);
    member.cluster.once('JoinGroup', joinedAs('me-2', 3, 'cooperative-sticky'));
    member.cluster.once('SyncGroup', synced(1));
    receive();
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 1']);
    expect(member.joins).toEqual(['', 'me', '']);
    const join = member.cluster.requests('JoinGroup').at(-1);
    expect(join?.offers.get('cooperative-sticky')).toMatchObject({ owned: [] });
  });

  it.each([
    ['join', 25, ''],
    ['sync', 25, ''],
    ['sync', 22, 'me'],
  ] as const)('loses the partitions if the %s returns code %i', async (step, errorCode, as) => {
    member = await cooperative();
    const answer = await rejoining(member);
    if (step === 'sync') member.cluster.once('SyncGroup', code(errorCode));
    member.cluster.once('JoinGroup', joinedAs('me', 3, 'cooperative-sticky'));
    member.cluster.once('SyncGroup', synced(1));
    answer.resolve(step === 'join' ? refusedJoin(errorCode) : joinedInGeneration(2));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 1']);
    expect(member.joins.at(-1)).toBe(as);
  });

  it('loses the partitions after a session timeout without a response while the join is pending', async () => {
    member = await cooperative();
    await rejoining(member);
    member.cluster.always('Heartbeat', () => new Deferred().promise);
    member.cluster.once('JoinGroup', joinedInGeneration(3)).once('SyncGroup', synced(1));
    await member.runtime.advance(SESSION_MS + HEARTBEAT_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 1']);
    member.cluster.always('Heartbeat', code(0));
  });

  it('loses the partitions before SyncGroup if the group has chosen an eager assignor', async () => {
    member = await cooperative();
    const answer = await rejoining(member);
    const share = new Deferred<object>();
    member.cluster.once('SyncGroup', () => share.promise);
    answer.resolve(joinedAs('me', 2, 'range'));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1']);
    expect(member.membership.assignment).toEqual([]);
    expect(member.statuses.at(-1)).toMatchObject({ error: expect.any(FencedError) as unknown });
    share.resolve(synced(0));
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 0']);
    expect(member.states.at(-1)).toBe('stable');
    // The group chooses an eager assignor from now on.
    member.cluster.once('JoinGroup', joinedInGeneration(3)).once('SyncGroup', synced(0, 1));
    await member.rebalance();
    expect(member.calls.slice(-2)).toEqual(['revoked 0', 'assigned 0 1']);
  });

  it('loses only the removed partitions if their revocation does not end within the rebalance timeout', async () => {
    member = await cooperative();
    const answer = await rejoining(member);
    member.listener.onRevoked = () => new Deferred().promise;
    member.cluster
      .once('SyncGroup', synced(1))
      .once('JoinGroup', joinedInGeneration(3))
      .once('SyncGroup', synced(1));
    answer.resolve(joinedInGeneration(2));
    await member.runtime.advance(REBALANCE_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0', 'lost 0']);
    expect(member.membership.assignment).toEqual(orders(1));
    expect(member.states.at(-1)).toBe('stable');
    member.listener = {};
  });
});

describe('ClassicMembership.close, during a cooperative rebalance', () => {
  it('revokes its partitions as a member of the old generation, and leaves', async () => {
    const member = await cooperative();
    await rejoining(member);
    const handlers = new Deferred();
    member.listener.onRevoked = () => handlers.promise;
    const closing = member.membership.close();
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1']);
    expect(member.membership.member.owns(first, member.membership.member.snapshot)).toBe(true);
    expect(member.membership.member.mayHaveNewGeneration(member.membership.member.snapshot)).toBe(
      false,
    );
    member.cluster.once('LeaveGroup', code(0));
    handlers.resolve();
    await closing;
    expect(member.cluster.requests('LeaveGroup')).toMatchObject([{ memberId: 'me' }]);
    expect(member.runtime.pendingTimers).toBe(0);
  });
});

describe('ClassicMembership.close, between JoinGroup and SyncGroup', () => {
  it('stores the commit of onRevoked, and does not wait for the cancelled SyncGroup', async () => {
    const member = await cooperative();
    const committer = member.newCommitter();
    member.listener.onRevoked = () => committer.commit([{ ...first, offset: 8 }]);
    const join = await rejoining(member);
    member.cluster.once('SyncGroup', () => new Deferred().promise);
    join.resolve(joinedInGeneration(2));
    await member.runtime.settle();
    // A broker refuses commits until the leader has sent SyncGroup.
    const syncedAt = member.runtime.monotonic() + 200;
    member.cluster.always('OffsetCommit', (sent) =>
      commitAnsweredWith(member.runtime.monotonic() < syncedAt ? 27 : 0)(sent),
    );
    member.cluster.always('LeaveGroup', code(0));
    const since = member.runtime.monotonic();
    let tookMs = Infinity;
    void member.membership.close().then(() => (tookMs = member.runtime.monotonic() - since));
    await member.runtime.advance(5_000);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1']);
    expect(tookMs).toBeLessThan(2_000);
  });
});
