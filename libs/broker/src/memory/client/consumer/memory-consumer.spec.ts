import type { PositionReset } from '../../../port/consumer.js';
import {
  AuthorizationError,
  FencedError,
  LogTruncatedError,
  OffsetMetadataTooLargeError,
  PoisonBatchError,
  TopicRecreatedError,
} from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import { observe } from '../../broker/test-cluster.spec-support.js';
import { memory } from '../../memory-driver.js';
import { TestGroup, type TestMember } from './test-group.spec-support.js';

const first = { topic: 't', partition: 0 };
const valuesOf = (records: readonly { value: Buffer | null }[]) =>
  records.map((r) => String(r.value));

describe('A member in virtual time', () => {
  it('stays one through an hour of nothing, and its waits are all virtual', async () => {
    const world = new TestGroup();
    const member = await world.join();
    const { generation } = member.session;
    await world.runtime.advance(3_600_000);
    expect(member.session.status).toMatchObject({ state: 'stable', generation });
    expect(member.callbacks).toEqual(['assigned t-0']);
  });

  it('leaves no timer behind when it is closed', async () => {
    const world = new TestGroup();
    const member = await world.join();
    const poll = observe(member.session.poll(1));
    await world.runtime.advance(100);
    await member.session.close();
    await world.runtime.settle();
    expect(poll.error).toMatchObject({ code: 'CLOSED' });
    expect(world.runtime.pendingTimers).toBe(0);
  });

  it('lets the rest of the process live while it polls a log without end', async () => {
    const world = new TestGroup();
    await world.write(...Array.from({ length: 5_000 }, (_, index) => String(index)));
    const member = await world.join();
    let turns = 0;
    setImmediate(function tick() {
      turns += 1;
      setImmediate(tick).unref();
    });
    for (let polled = 0; polled < 1_000; polled++) await member.session.poll(1);
    expect(turns).toBeGreaterThan(5);
  });
});

describe('A start that is stored by itself', () => {
  it('comes before the first record: it cannot take back what is committed of that', async () => {
    const world = new TestGroup();
    const slow = { operation: 'commit', groupId: 'g' } as const;
    world.broker.faults.delayRequests(slow, 1_000, { times: 1 });
    const member = await world.join({ offsetReset: 'latest' });
    await world.write('a');
    const poll = observe(member.session.poll(1));
    await world.runtime.advance(500);
    expect(poll.ended).toBe(false);
    await world.runtime.advance(1_000);
    expect(valuesOf(poll.result ?? [])).toEqual(['a']);
  });
});

describe('Without its group', () => {
  it('a member whose heartbeats are lost gives up after the session time-out, and joins anew', async () => {
    const world = new TestGroup();
    const member = await world.join({ sessionTimeoutMs: 6_000 });
    const { memberId } = member.session;
    const fault = world.broker.faults.dropHeartbeats({ groupId: 'g' });
    await world.runtime.advance(5_000);
    expect(member.callbacks).toEqual(['assigned t-0']);
    await world.until(() => member.callbacks.includes('lost t-0'));
    expect(fault.hits).toBeGreaterThan(0);
    fault.lift();
    await world.until(
      () => member.callbacks.length === 3 && member.session.status.state === 'stable',
    );
    expect(member.callbacks).toEqual(['assigned t-0', 'lost t-0', 'assigned t-0']);
    expect(member.session.memberId).not.toBe(memberId);
  });

  it('a member that was thrown out is fenced by its next commit', async () => {
    const world = new TestGroup();
    const member = await world.join();
    world.broker.faults.expireSession('g', member.session.memberId);
    const commit = member.session.commit([{ ...first, offset: 1 }]);
    await expect(commit).rejects.toBeInstanceOf(FencedError);
    await world.until(() => member.callbacks.length === 3);
    expect(member.callbacks[1]).toBe('lost t-0');
  });

  it('a member goes through a lost coordinator as if nothing were, but says so', async () => {
    const world = new TestGroup();
    const member = await world.join({ sessionTimeoutMs: 30_000, heartbeatIntervalMs: 1_000 });
    const fault = world.broker.faults.loseCoordinator('g');
    await world.runtime.advance(5_000);
    expect(member.session.status).toMatchObject({
      state: 'retrying',
      error: { brokerCode: 16 },
    });
    fault.lift();
    await world.until(() => member.session.status.state === 'stable');
    expect(member.callbacks).toEqual(['assigned t-0']);
  });

  it('a loss during onAssigned does not wait for it, and nothing is handed out before it is ours again', async () => {
    const world = new TestGroup();
    await world.write('a');
    let entered = 0;
    const member = world.member(
      {},
      {
        onAssigned: () => (entered++ ? undefined : new Promise((end) => (release = () => end()))),
      },
    );
    let release = (): void => undefined;
    member.start();
    await world.until(() => entered === 1);
    world.broker.faults.expireSession('g', member.session.memberId);
    const commit = observe(member.session.commit([{ ...first, offset: 1 }]));
    await world.until(() => commit.ended);
    expect(commit.error).toBeInstanceOf(FencedError);
    await world.until(() => member.callbacks.length === 3);
    expect(member.callbacks).toEqual(['assigned t-0', 'lost t-0', 'assigned t-0']);
    expect(valuesOf(await world.poll(member))).toEqual(['a']);
    release();
    expect(await pollFor(world, member)).toEqual([]);
  });
});

describe('A commit', () => {
  it('is repeated while the coordinator is away', async () => {
    const world = new TestGroup();
    const member = await world.join();
    world.broker.faults.refuse({ operation: 'commit' }, 'NOT_COORDINATOR', { times: 2 });
    const commit = observe(member.session.commit([{ ...first, offset: 3 }]));
    await world.until(() => commit.ended);
    expect(commit.error).toBeUndefined();
    expect((await member.session.committed([first]))[0]?.offset).toBe(3);
  });

  it('whose answer is lost is sent again', async () => {
    const world = new TestGroup();
    const member = await world.join();
    const fault = world.broker.faults.loseAnswers({ operation: 'commit' }, { times: 1 });
    const commit = observe(member.session.commit([{ ...first, offset: 3 }]));
    await world.until(() => commit.ended);
    expect([commit.error, fault.hits]).toEqual([undefined, 1]);
  });

  it('that waits behind another cannot be overtaken by an older one', async () => {
    const world = new TestGroup();
    const member = await world.join();
    world.broker.faults.delayRequests({ operation: 'commit' }, 500, { times: 1 });
    const commits = [1, 2, 3].map((offset) =>
      observe(member.session.commit([{ ...first, offset }])),
    );
    await world.until(() => commits.every(({ ended }) => ended));
    expect((await member.session.committed([first]))[0]?.offset).toBe(3);
  });

  it('of one assignment never counts in the next, though the partition is ours again', async () => {
    const world = new TestGroup();
    const member = await world.join();
    const held = world.broker.faults.delayRequests({ operation: 'commit' }, 60_000, { times: 1 });
    const commits = [1, 2].map((offset) => observe(member.session.commit([{ ...first, offset }])));
    await world.until(() => held.hits === 1);
    world.broker.faults.expireSession('g', member.session.memberId);
    await world.until(() => member.callbacks.length === 3);
    await world.until(() => commits.every(({ ended }) => ended));
    for (const { error } of commits) expect(error).toBeInstanceOf(FencedError);
    expect(await member.session.committed([first])).toEqual([]);
  });

  it('is refused for one partition only, by its limit of UTF-16 units', async () => {
    const world = new TestGroup(2);
    const member = await world.join();
    const error: unknown = await member.session
      .commit([
        { ...first, offset: 1, metadata: 'x'.repeat(4_097) },
        { topic: 't', partition: 1, offset: 1, metadata: 'é'.repeat(4_096) },
      ])
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OffsetMetadataTooLargeError);
    expect(error).toMatchObject({ partitions: [first], brokerCode: 12 });
    expect(await member.session.committed([first])).toEqual([]);
  });
});

describe('Trouble in one partition', () => {
  it.each(['earliest', 'latest'] as const)(
    'a log that was cut back behind what was read is read on from there, and that is told: %s',
    async (offsetReset) => {
      const world = new TestGroup();
      const resets: PositionReset[] = [];
      const onReset = (reset: PositionReset): void => void resets.push(reset);
      await world.write('a', 'b');
      const member = await world.join({ offsetReset: 'earliest' });
      expect(valuesOf(await world.poll(member))).toEqual(['a', 'b']);
      await member.session.commit([{ ...first, offset: 2, leaderEpoch: 0 }]);
      await member.session.close();
      const next = await world.join({ offsetReset }, { onReset });
      await world.write('c');
      expect(valuesOf(await world.poll(next))).toEqual(['c']);
      world.broker.faults.truncate(first, 2);
      await world.write('other', 'and more');
      expect(valuesOf(await world.poll(next))).toEqual(['other', 'and more']);
      const reason = 'log-truncated';
      expect(resets).toEqual([{ ...first, from: 3, to: 2, policy: offsetReset, reason }]);
      expect(next.stops).toEqual([]);
    },
  );

  it('a log that was cut back behind a place that was sought is noticed, too', async () => {
    const world = new TestGroup();
    const resets: PositionReset[] = [];
    const member = await world.join({}, { onReset: (reset) => void resets.push(reset) });
    await world.write('a');
    await world.write('b');
    await world.write('c');
    for (let read = 0; read < 3;) read += (await world.poll(member)).length;
    member.session.pause([first]);
    member.session.seek(first, 2);
    world.broker.faults.truncate(first, 1);
    await world.write('other', 'and more');
    member.session.resume([first]);
    expect(valuesOf(await world.poll(member))).toEqual(['other', 'and more']);
    expect(resets.at(-1)).toMatchObject({ from: 2, to: 1, reason: 'log-truncated' });
  });

  it('a log that was cut back behind what was read stops it where the policy is none', async () => {
    const world = new TestGroup();
    const setUp = await world.join();
    await setUp.session.commit([{ ...first, offset: 0 }]);
    await setUp.session.close();
    const member = await world.join({ offsetReset: 'none' });
    await world.write('a', 'b');
    await world.write('c');
    expect(valuesOf(await world.poll(member))).toHaveLength(2);
    expect(valuesOf(await world.poll(member))).toEqual(['c']);
    world.broker.faults.truncate(first, 2);
    await world.until(() => member.stops.length === 1);
    expect(member.stops[0]).toBeInstanceOf(LogTruncatedError);
    expect(member.stops[0]).toMatchObject({ offset: 3, agreedEnd: 2 });
    member.session.seek(first, 2);
    await world.write('other');
    expect(valuesOf(await world.poll(member))).toEqual(['other']);
  });

  it('a broken batch stops it with the way around, and a seek goes there', async () => {
    const world = new TestGroup(2);
    for (const value of ['a', 'broken', 'c']) await world.write(value);
    await world.send([{ topic: 't', partition: 1, value: 'other' }]);
    world.broker.faults.corrupt(first, 1);
    const member = await world.join();
    const polled = observe(member.session.poll(1));
    await world.until(() => polled.ended);
    const seen = [...(polled.result ?? [])];
    while (member.stops.length === 0) seen.push(...(await pollFor(world, member)));
    const [error] = member.stops;
    expect(error).toBeInstanceOf(PoisonBatchError);
    expect(error).toMatchObject({ offset: 1, nextOffset: 2 });
    expect(valuesOf(seen).sort()).toEqual(['a', 'other']);
    member.session.seek(first, 2);
    expect(valuesOf(await world.poll(member))).toEqual(['c']);
  });

  it('a topic that was deleted and created again stops it until a seek', async () => {
    const world = new TestGroup();
    await world.write('old');
    const member = await world.join();
    await world.poll(member);
    const { topics } = world.broker.cluster;
    topics.delete('t');
    topics.create({ name: 't' });
    await world.until(() => member.stops.length === 1);
    expect(member.stops[0]).toBeInstanceOf(TopicRecreatedError);
    await world.write('new');
    member.session.seek(first, 0);
    expect(valuesOf(await world.poll(member))).toEqual(['new']);
  });

  it('no leader: it waits and says so, and loses nothing', async () => {
    const world = new TestGroup();
    const member = await world.join();
    const fault = world.broker.faults.loseLeader('t', 0);
    await world.until(() => member.session.status.state === 'retrying');
    fault.lift();
    await world.write('a');
    expect(valuesOf(await world.poll(member))).toEqual(['a']);
    await world.until(() => member.session.status.state === 'stable');
  });
});

describe('What a session notices', () => {
  it('new partitions are shared out', async () => {
    const world = new TestGroup();
    const member = await world.join();
    world.broker.cluster.topics.addPartitions('t', 3);
    await world.until(() => member.session.assignment().length === 3);
    expect(member.callbacks).toEqual(['assigned t-0', 'assigned t-1 t-2']);
  });

  it('a deleted topic is a status, and its successor is read from the start', async () => {
    const world = new TestGroup();
    await world.write('old');
    const member = await world.join();
    await world.poll(member);
    await member.session.commit([{ ...first, offset: 1 }]);
    world.broker.cluster.topics.delete('t');
    await world.until(() => member.session.assignment().length === 0);
    expect(member.session.status).toMatchObject({ error: { code: 'UNKNOWN_TOPIC' } });
    world.broker.cluster.topics.create({ name: 't' });
    await world.write('new');
    expect(valuesOf(await world.poll(member))).toEqual(['new']);
    expect(member.session.status.state).toBe('stable');
  });

  it('an offset that a transaction is about to move is waited for', async () => {
    const world = new TestGroup();
    await world.write('a', 'b');
    const producer = memory({ broker: world.broker }).producer({ transactionalId: 't' });
    const transaction = await producer.transaction();
    const nobody = { groupId: 'g', memberId: '', generation: -1 };
    await transaction.sendOffsets({ ...nobody, offsets: [{ ...first, offset: 1 }] });
    const member = world.member();
    const started = member.start();
    await world.runtime.advance(3_000);
    expect(started.ended).toBe(false);
    await transaction.commit();
    await world.until(() => started.ended);
    expect(valuesOf(await world.poll(member))).toEqual(['b']);
  });

  it('a refused permission is said, and tried again slowly until it is granted', async () => {
    const world = new TestGroup();
    world.broker.faults.refuse({ operation: 'join' }, 'GROUP_AUTHORIZATION_FAILED', { times: 3 });
    const member = world.member();
    const started = member.start();
    await world.runtime.advance(10_000);
    expect(started.ended).toBe(false);
    expect(member.session.status).toMatchObject({
      state: 'retrying',
      error: expect.any(AuthorizationError),
    });
    await world.runtime.advance(10_000);
    expect(started.error).toBeUndefined();
    expect(member.session.status.state).toBe('stable');
  });
});

describe('Closing', () => {
  it('is bounded, though onRevoked never ends', async () => {
    const world = new TestGroup();
    const member = await world.join(
      { rebalanceTimeoutMs: 5_000 },
      { onRevoked: () => new Promise(() => undefined) },
    );
    const closed = observe(member.session.close());
    await world.runtime.advance(4_499);
    expect(closed.ended).toBe(false);
    await world.runtime.advance(1);
    expect([closed.ended, member.session.status.state]).toEqual([true, 'closed']);
    expect(member.callbacks).toEqual(['assigned t-0', 'revoked t-0', 'lost t-0']);
  });

  it('waits 5 s at most for where its partitions start to be stored', async () => {
    const world = new TestGroup();
    const options = { offsetReset: 'latest', rebalanceTimeoutMs: 60_000 } as const;
    world.broker.faults.refuse({ operation: 'commit' }, 'NOT_COORDINATOR');
    const member = await world.join(options);
    const closed = observe(member.session.close());
    await world.runtime.advance(4_900);
    expect(closed.ended).toBe(false);
    await world.runtime.advance(1_000);
    expect(closed.ended).toBe(true);
  });

  it('gives the partitions to the others at once', async () => {
    const world = new TestGroup(2);
    const [one, other] = [await world.join(), await world.join()];
    await world.until(() => one.session.assignment().length === 1);
    await one.session.close();
    const since = world.runtime.monotonic();
    await world.until(() => other.session.assignment().length === 2);
    expect(world.runtime.monotonic() - since).toBeLessThan(15_000);
  });
});

/** What comes within a second, if anything. */
async function pollFor(world: TestGroup, { session }: TestMember) {
  const abort = new AbortController();
  const poll = observe(session.poll(1, abort.signal));
  await world.runtime.advance(1_000);
  abort.abort();
  await world.runtime.settle();
  return poll.result ?? [];
}

describe('A revocation', () => {
  it('may take longer than the session: heartbeats go on, and its commit is stored', async () => {
    const world = new TestGroup(2);
    const handBack = new Deferred();
    const options = {
      assignors: ['sticky'],
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 30_000,
    } as const;
    const member = await world.join(options, {
      onRevoked: async () => {
        await handBack.promise;
        await member.session.commit([{ ...first, offset: 1 }]);
      },
    });
    const other = world.member(options);
    const joined = other.start();
    await world.runtime.advance(20_000);
    expect([joined.ended, member.callbacks]).toEqual([
      false,
      ['assigned t-0 t-1', 'revoked t-0 t-1'],
    ]);
    handBack.resolve();
    await world.until(() => joined.ended && member.session.status.state === 'stable');
    expect(member.callbacks.filter((line) => line.startsWith('lost'))).toEqual([]);
    expect((await member.session.committed([first]))[0]?.offset).toBe(1);
  });

  it('that takes longer than the rebalance is fenced, and the loss is told meanwhile', async () => {
    const world = new TestGroup();
    const handBack = new Deferred();
    const options = {
      assignors: ['sticky'],
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 8_000,
    } as const;
    const member = await world.join(options, { onRevoked: () => handBack.promise });
    const other = world.member(options);
    const joined = other.start();
    await world.until(() => joined.ended);
    await world.until(() => member.session.assignment().length === 0);
    const commit = member.session.commit([{ ...first, offset: 1 }]);
    await expect(commit).rejects.toBeInstanceOf(FencedError);
    expect(member.callbacks.slice(0, 3)).toEqual(['assigned t-0', 'revoked t-0', 'lost t-0']);
    handBack.resolve();
  });
});
