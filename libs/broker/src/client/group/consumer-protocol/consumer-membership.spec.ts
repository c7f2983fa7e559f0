import { ConnectionError, StaticMemberInUseError } from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import {
  heartbeatAnswer,
  BROKER_SESSION_MS,
  ConsumerMemberUnderTest,
  INTERVAL_MS,
  ORDERS_ID,
  refusedHeartbeat,
} from './consumer-member-under-test.spec-support.js';
import type { ConsumerMembershipOptions } from './consumer-membership.js';
import { orders, REBALANCE_MS } from '../member-under-test.spec-support.js';

describe('ConsumerMembership', () => {
  let member: ConsumerMemberUnderTest;
  beforeEach(() => {
    member = new ConsumerMemberUnderTest();
  });
  afterEach(() => member.close());

  it('joins with epoch 0 and a member id of its own, and reports its assignment', async () => {
    await member.start();
    const [join] = member.heartbeats;
    expect([join?.generation, join?.owned]).toEqual([0, []]);
    expect(member.calls).toEqual(['assigned 0 1']);
    expect(member.states).toEqual(['joining', 'stable']);
    expect(member.membership.member.snapshot).toMatchObject({
      memberId: join?.memberId,
      generation: 1,
      protocol: 'consumer',
    });
    expect(member.membership.assignment).toEqual(orders(0, 1));
  });

  it('reports its partitions in every heartbeat, at the interval of the broker', async () => {
    await member.start();
    await member.runtime.advance(10_000);
    const before = member.heartbeats.length;
    await member.runtime.advance(INTERVAL_MS * 4);
    expect(member.heartbeats.length - before).toBe(4);
    expect(member.heartbeats.at(-1)?.owned).toEqual([`${ORDERS_ID}/0`, `${ORDERS_ID}/1`]);
  });

  it('reports an empty assignment once after the join', async () => {
    await member.start(heartbeatAnswer(1, []));
    await member.runtime.advance(INTERVAL_MS * 4);
    expect(member.calls).toEqual(['assigned']);
    expect(member.states.at(-1)).toBe('stable');
  });

  it('revokes the removed partitions first, and then sends a heartbeat without them at once', async () => {
    await member.start();
    const gate = new Deferred();
    member.listener.onRevoked = () => gate.promise;
    member.answer(heartbeatAnswer(1, [0]));
    await member.runtime.advance(INTERVAL_MS);
    expect(member.calls.at(-1)).toBe('revoked 1');
    expect([member.states.at(-1), member.lastHeartbeat]).toEqual(['joining', '1: 0 1']);
    expect(member.membership.assignment).toEqual(orders(0, 1));
    const count = member.heartbeats.length;
    member.answer(heartbeatAnswer(2, [0]));
    gate.resolve();
    await member.runtime.settle();
    expect([member.heartbeats.length - count, member.lastHeartbeat]).toEqual([1, '1: 0']);
    expect([member.membership.member.snapshot.generation, member.states.at(-1)]).toEqual([
      2,
      'stable',
    ]);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 1']);
  });

  it('keeps the remaining partitions in the next epoch', async () => {
    await member.start();
    const since = member.membership.member.snapshot;
    member.answer(heartbeatAnswer(5, [0, 2]));
    await member.runtime.advance(INTERVAL_MS);
    const { membership } = member;
    expect(orders(0, 1, 2).map((each) => membership.member.owns(each, since))).toEqual([
      true,
      false,
      false,
    ]);
    expect(
      orders(2).map((each) => membership.member.owns(each, membership.member.snapshot)),
    ).toEqual([true]);
  });

  it('keeps its partitions if the response contains no assignment', async () => {
    await member.start();
    member.answer({ ...heartbeatAnswer(2, []), assignment: null });
    await member.runtime.advance(INTERVAL_MS * 2);
    expect(member.calls).toEqual(['assigned 0 1']);
    expect([member.membership.member.snapshot.generation, member.states.at(-1)]).toEqual([
      2,
      'stable',
    ]);
  });

  it('becomes stable even if the first response contains no assignment', async () => {
    await member.start({ ...heartbeatAnswer(1, []), assignment: null });
    expect([member.calls, member.states.at(-1)]).toEqual([['assigned'], 'stable']);
  });

  it('loses partitions whose revocation does not end within the rebalance timeout, and keeps the others', async () => {
    await member.start();
    member.listener.onRevoked = () => new Promise(() => undefined);
    member.answer(heartbeatAnswer(1, [0]));
    await member.runtime.advance(INTERVAL_MS + REBALANCE_MS);
    expect(member.calls.slice(1)).toEqual(['revoked 1', 'lost 1']);
    expect(member.lastHeartbeat).toBe('1: 0');
    expect(member.membership.assignment).toEqual(orders(0));
    member.listener = {};
  });

  it('sends its full state again after a lost response', async () => {
    await member.start();
    member.once(new ConnectionError('cut')).answer(heartbeatAnswer(2, [0, 1]));
    await member.runtime.advance(INTERVAL_MS + 200);
    expect(member.states).toContain('retrying');
    const [join, ...others] = member.heartbeats;
    expect([join?.owned?.length, ...others.map(({ owned }) => owned?.length)]).toEqual([
      0,
      ...others.map(() => 2),
    ]);
    expect(member.states.at(-1)).toBe('stable');
    expect(member.calls).toEqual(['assigned 0 1']);
  });

  it.each([
    ['fenced', 110],
    ['unknown', 25],
    ['of a group that was deleted', 69],
  ])('loses all partitions and joins as a new member if it is %s', async (_, errorCode) => {
    await member.start();
    const { memberId } = member.membership.member.snapshot;
    member.once(refusedHeartbeat(errorCode));
    await member.runtime.advance(INTERVAL_MS + 200);
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1', 'assigned 0 1']);
    expect(member.membership.member.snapshot.memberId).not.toBe(memberId);
    const leaves = member.heartbeats.filter(({ generation }) => generation === -1);
    expect(leaves.map((each) => each.memberId)).toEqual(errorCode === 110 ? [memberId] : []);
  });

  it('loses all partitions if a commit of the current epoch reports an expulsion', async () => {
    await member.start();
    const old = member.membership.member.snapshot;
    member.answer(heartbeatAnswer(2, [0, 1]));
    await member.runtime.advance(INTERVAL_MS);
    member.membership.member.reportExpelled(old, 25);
    await member.runtime.settle();
    expect(member.calls).toEqual(['assigned 0 1']);
    member.membership.member.reportExpelled(member.membership.member.snapshot, 25);
    await member.runtime.settle();
    expect(member.calls.slice(1)).toEqual(['lost 0 1', 'assigned 0 1']);
  });

  it('loses all partitions, measured by its own clock, after the session timeout that the broker returned', async () => {
    await member.start();
    member.answer(new ConnectionError('unplugged'));
    await member.runtime.advance(BROKER_SESSION_MS - INTERVAL_MS);
    expect(member.calls).toEqual(['assigned 0 1']);
    await member.runtime.advance(INTERVAL_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1']);
  });

  it('uses the default session timeout if the broker does not return its own', async () => {
    member.cluster.always('DescribeConfigs', new ConnectionError('no'));
    await member.start();
    member.answer(new ConnectionError('unplugged'));
    await member.runtime.advance(44_000);
    expect(member.calls).toEqual(['assigned 0 1']);
    await member.runtime.advance(2_000);
    expect(member.calls.at(-1)).toBe('lost 0 1');
  });

  it('reads a topic only once it knows the name for the topic id', async () => {
    const foreign = 'b2'.repeat(16);
    await member.start(heartbeatAnswer(1, [0], foreign));
    expect(member.calls).toEqual(['assigned']);
    member.cluster.topicIds.set('orders', foreign);
    await member.runtime.advance(INTERVAL_MS);
    expect(member.calls).toEqual(['assigned', 'assigned 0']);
    await member.runtime.advance(1_000);
    expect(member.heartbeats.at(-1)?.owned).toEqual([`${foreign}/0`]);
  });

  it('keeps the partitions of a topic that was created again, and reports them with the new id', async () => {
    await member.start();
    const successor = 'b2'.repeat(16);
    member.cluster.topicIds.set('orders', successor);
    member.answer(heartbeatAnswer(3, [0, 1], successor));
    await member.runtime.advance(INTERVAL_MS * 2);
    expect(member.calls).toEqual(['assigned 0 1']);
    expect(member.heartbeats.at(-1)?.owned).toEqual([`${successor}/0`, `${successor}/1`]);
  });

  it('reports a deleted topic in the status if the assignment is empty because of it', async () => {
    await member.start();
    member.cluster.topics.delete('orders');
    member.answer(heartbeatAnswer(2, []));
    await member.runtime.advance(INTERVAL_MS * 3);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1']);
    expect(member.statuses.at(-1)).toMatchObject({
      state: 'retrying',
      error: { name: 'UnknownTopicError' },
    });
    member.cluster.topics.set('orders', 4);
    member.answer(heartbeatAnswer(3, [0]));
    await member.runtime.advance(INTERVAL_MS * 2);
    expect(member.calls.at(-1)).toBe('assigned 0');
    expect(member.states.at(-1)).toBe('stable');
  });

  it('calls onRevoked and leaves the group at its close', async () => {
    await member.start();
    const { memberId } = member.membership.member.snapshot;
    await member.membership.close();
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1']);
    expect(member.heartbeats.at(-1)).toMatchObject({ memberId, generation: -1 });
  });

  it('waits at its close for a running onRevoked, and revokes each partition once', async () => {
    await member.start();
    const gate = new Deferred();
    member.listener.onRevoked = (partitions) =>
      partitions.length === 1 && partitions[0]?.partition === 1 ? gate.promise : Promise.resolve();
    member.answer(heartbeatAnswer(1, [0]));
    await member.runtime.advance(INTERVAL_MS);
    const closing = member.membership.close();
    await member.runtime.settle();
    expect(member.calls.slice(1)).toEqual(['revoked 1', 'revoked 0']);
    expect(member.heartbeats.at(-1)?.generation).not.toBe(-1);
    gate.resolve();
    await closing;
    expect(member.calls).toHaveLength(3);
  });
});

describe('ConsumerMembership, after it was lost', () => {
  let member: ConsumerMemberUnderTest;
  let oldId: string;
  /** Response to each LeaveGroup of the old member. */
  let leaveAnswer: object;

  const leaves = () => member.heartbeats.filter(({ generation }) => generation < 0);
  const joins = () => member.heartbeats.filter(({ generation }) => generation === 0);
  const answerByKind = () =>
    member.cluster.always('ConsumerGroupHeartbeat', ({ generation }) =>
      generation < 0 ? leaveAnswer : heartbeatAnswer(3, [0, 1]),
    );

  async function lose(options: Partial<ConsumerMembershipOptions> = {}): Promise<void> {
    member = new ConsumerMemberUnderTest(options);
    await member.start();
    oldId = member.membership.member.snapshot.memberId;
    member.answer(new ConnectionError('unplugged'));
    await member.runtime.advance(BROKER_SESSION_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1']);
  }

  it.each([
    ['dynamic', null, -1],
    ['static', 'pod-1', -2],
  ])(
    'leaves under its old id until the group answers, then joins as a new member (%s)',
    async (_, groupInstanceId, leaveEpoch) => {
      await lose({ groupInstanceId });
      await member.runtime.advance(3_000);
      expect(leaves().length).toBeGreaterThan(1);
      expect(joins()).toHaveLength(1);
      expect(member.states.at(-1)).toBe('retrying');
      leaveAnswer = heartbeatAnswer(leaveEpoch, []);
      answerByKind();
      await member.runtime.advance(2_000);
      const names = new Set(leaves().map((each) => `${each.memberId} ${each.generation}`));
      expect([...names]).toEqual([`${oldId} ${leaveEpoch}`]);
      expect(member.calls.at(-1)).toBe('assigned 0 1');
      expect(member.membership.member.snapshot.memberId).not.toBe(oldId);
      await member.close();
    },
  );

  it.each([
    ['does not know it any more', refusedHeartbeat(25)],
    ['does not exist any more', refusedHeartbeat(69)],
    ['gave its instance id to another session', refusedHeartbeat(82)],
  ])('joins at once if the group %s', async (_, answer) => {
    await lose();
    leaveAnswer = answer;
    answerByKind();
    const before = leaves().length;
    await member.runtime.advance(2_000);
    expect(leaves()).toHaveLength(before + 1);
    expect(member.calls.at(-1)).toBe('assigned 0 1');
    await member.close();
  });

  it('joins without a leave once the session of the broker has expired', async () => {
    await lose();
    leaveAnswer = refusedHeartbeat(14);
    answerByKind();
    await member.runtime.advance(BROKER_SESSION_MS - 1_000);
    expect(joins()).toHaveLength(1);
    await member.runtime.advance(1_000);
    expect(member.calls.at(-1)).toBe('assigned 0 1');
    await member.close();
  });

  it('sends one last leave at its close', async () => {
    await lose();
    leaveAnswer = heartbeatAnswer(-1, []);
    answerByKind();
    await member.membership.close();
    expect(leaves().at(-1)?.memberId).toBe(oldId);
    expect(joins()).toHaveLength(1);
    await member.close();
  });

  it('leaves and joins again if the response to the join of a static member is lost', async () => {
    member = new ConsumerMemberUnderTest({ groupInstanceId: 'pod-1' });
    member.once(
      new ConnectionError('cut'),
      refusedHeartbeat(111),
      heartbeatAnswer(-2, []),
      heartbeatAnswer(1, [0]),
    );
    await member.start(heartbeatAnswer(1, [0]));
    await member.runtime.advance(2_000);
    expect(member.heartbeats.slice(0, 4).map(({ generation }) => generation)).toEqual([
      0, 0, -2, 0,
    ]);
    expect(member.calls).toEqual(['assigned 0']);
    await member.close();
  });
});

describe('ConsumerMembership, whose assignment changes during its close', () => {
  it.each([
    ['removes partitions', [0]],
    ['assigns more', [0, 1, 2]],
  ])('revokes each partition once if the broker %s', async (_, partitions) => {
    const member = await new ConsumerMemberUnderTest().start();
    const gate = new Deferred();
    member.listener.onRevoked = () => gate.promise;
    const closing = member.membership.close();
    member.answer(heartbeatAnswer(2, partitions));
    await member.runtime.advance(INTERVAL_MS);
    expect(member.calls).toEqual(['assigned 0 1', 'revoked 0 1']);
    // Commits during the revocation use the current epoch.
    expect(member.membership.member.snapshot.generation).toBe(2);
    gate.resolve();
    await closing;
    expect(member.calls).toHaveLength(2);
    await member.close();
  });
});

describe('ConsumerMembership, as a static member', () => {
  let member: ConsumerMemberUnderTest;
  beforeEach(() => {
    member = new ConsumerMemberUnderTest({ groupInstanceId: 'pod-1' });
  });
  afterEach(() => member.close());

  it('leaves with epoch -2 at its close, so that the group keeps its partitions for a restart', async () => {
    await member.start();
    await member.membership.close();
    expect(member.heartbeats.at(-1)).toMatchObject({ generation: -2, instanceId: 'pod-1' });
  });

  it('keeps retrying while its instance id is in use, and names it in the error', async () => {
    await member.start(refusedHeartbeat(111));
    await member.runtime.advance(10_000);
    expect(member.calls).toEqual([]);
    expect(member.statuses.at(-1)).toMatchObject({ state: 'retrying' });
    const status = member.statuses.at(-1);
    expect(status && 'error' in status && status.error).toBeInstanceOf(StaticMemberInUseError);
    expect(member.heartbeats.length).toBeLessThan(30);
    member.answer(heartbeatAnswer(1, [0]));
    await member.runtime.advance(2_000);
    expect(member.calls).toEqual(['assigned 0']);
  });

  it('fails if a classic member with its instance id fences it', async () => {
    await member.start();
    member.once(refusedHeartbeat(82));
    await member.runtime.advance(INTERVAL_MS);
    expect(member.states.at(-1)).toBe('failed');
    expect(member.calls).toEqual(['assigned 0 1', 'lost 0 1']);
  });
});
