import { AuthorizationError, FencedError } from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import { observe } from '../../broker/test-cluster.spec-support.js';
import { memory } from '../../memory-driver.js';
import { TestGroup, type TestMember } from './test-group.spec-support.js';

const first = { topic: 't', partition: 0 };
const valuesOf = (records: readonly { value: Buffer | null }[]) =>
  records.map((r) => String(r.value));

/** Returns the records that arrive within a second, if any. */
async function pollFor(group: TestGroup, { session }: TestMember) {
  const abort = new AbortController();
  const poll = observe(session.poll(1, abort.signal));
  await group.runtime.advance(1_000);
  abort.abort();
  await group.runtime.settle();
  return poll.result ?? [];
}

describe('a member in virtual time', () => {
  it('stays in the group through an hour without records, and all its waits are virtual', async () => {
    const group = new TestGroup();
    const member = await group.join();
    const { generation } = member.session;
    await group.runtime.advance(3_600_000);
    expect(member.session.status).toMatchObject({ state: 'stable', generation });
    expect(member.callbacks).toEqual(['assigned t-0']);
  });

  it('leaves no timer behind when it is closed', async () => {
    const group = new TestGroup();
    const member = await group.join();
    const poll = observe(member.session.poll(1));
    await group.runtime.advance(100);
    await member.session.close();
    await group.runtime.settle();
    expect(poll.error).toMatchObject({ code: 'CLOSED' });
    expect(group.runtime.pendingTimers).toBe(0);
  });

  it('yields to the event loop while it polls an endless log', async () => {
    const group = new TestGroup();
    await group.write(...Array.from({ length: 5_000 }, (_, index) => String(index)));
    const member = await group.join();
    let turns = 0;
    setImmediate(function tick() {
      turns += 1;
      setImmediate(tick).unref();
    });
    for (let polled = 0; polled < 1_000; polled++) await member.session.poll(1);
    expect(turns).toBeGreaterThan(5);
  });
});

describe('the automatic commit of a start position', () => {
  it('precedes the first record, so it cannot overwrite a later commit', async () => {
    const group = new TestGroup();
    const slow = { operation: 'commit', groupId: 'g' } as const;
    group.broker.faults.delayRequests(slow, 1_000, { times: 1 });
    const member = await group.join({ offsetReset: 'latest' });
    await group.write('a');
    const poll = observe(member.session.poll(1));
    await group.runtime.advance(500);
    expect(poll.ended).toBe(false);
    await group.runtime.advance(1_000);
    expect(valuesOf(poll.result ?? [])).toEqual(['a']);
  });
});

describe('a member without its group', () => {
  it('gives up after the session timeout if its heartbeats are lost, and joins again', async () => {
    const group = new TestGroup();
    const member = await group.join({ sessionTimeoutMs: 6_000 });
    const { memberId } = member.session;
    const fault = group.broker.faults.dropHeartbeats({ groupId: 'g' });
    await group.runtime.advance(5_000);
    expect(member.callbacks).toEqual(['assigned t-0']);
    await group.until(() => member.callbacks.includes('lost t-0'));
    expect(fault.hits).toBeGreaterThan(0);
    fault.lift();
    await group.until(
      () => member.callbacks.length === 3 && member.session.status.state === 'stable',
    );
    expect(member.callbacks).toEqual(['assigned t-0', 'lost t-0', 'assigned t-0']);
    expect(member.session.memberId).not.toBe(memberId);
  });

  it('gets a FencedError for its next commit after it was removed', async () => {
    const group = new TestGroup();
    const member = await group.join();
    group.broker.faults.expireSession('g', member.session.memberId);
    const commit = member.session.commit([{ ...first, offset: 1 }]);
    await expect(commit).rejects.toBeInstanceOf(FencedError);
    await group.until(() => member.callbacks.length === 3);
    expect(member.callbacks[1]).toBe('lost t-0');
  });

  it('continues after a lost coordinator, and reports it as a status', async () => {
    const group = new TestGroup();
    const member = await group.join({ sessionTimeoutMs: 30_000, heartbeatIntervalMs: 1_000 });
    const fault = group.broker.faults.loseCoordinator('g');
    await group.runtime.advance(5_000);
    expect(member.session.status).toMatchObject({
      state: 'retrying',
      error: { brokerCode: 16 },
    });
    fault.lift();
    await group.until(() => member.session.status.state === 'stable');
    expect(member.callbacks).toEqual(['assigned t-0']);
  });

  it('handles a loss during onAssigned at once, and returns no records until the partition is assigned again', async () => {
    const group = new TestGroup();
    await group.write('a');
    let entered = 0;
    const member = group.member(
      {},
      {
        onAssigned: () => (entered++ ? undefined : new Promise((end) => (release = () => end()))),
      },
    );
    let release = (): void => undefined;
    member.start();
    await group.until(() => entered === 1);
    group.broker.faults.expireSession('g', member.session.memberId);
    const commit = observe(member.session.commit([{ ...first, offset: 1 }]));
    await group.until(() => commit.ended);
    expect(commit.error).toBeInstanceOf(FencedError);
    await group.until(() => member.callbacks.length === 3);
    expect(member.callbacks).toEqual(['assigned t-0', 'lost t-0', 'assigned t-0']);
    expect(valuesOf(await group.poll(member))).toEqual(['a']);
    release();
    expect(await pollFor(group, member)).toEqual([]);
  });
});

describe('metadata changes during a session', () => {
  it('new partitions are assigned', async () => {
    const group = new TestGroup();
    const member = await group.join();
    group.broker.cluster.topics.addPartitions('t', 3);
    await group.until(() => member.session.assignment().length === 3);
    expect(member.callbacks).toEqual(['assigned t-0', 'assigned t-1 t-2']);
  });

  it('a deleted topic is reported as a status, and the recreated topic is read from the start', async () => {
    const group = new TestGroup();
    await group.write('old');
    const member = await group.join();
    await group.poll(member);
    await member.session.commit([{ ...first, offset: 1 }]);
    group.broker.cluster.topics.delete('t');
    await group.until(() => member.session.assignment().length === 0);
    expect(member.session.status).toMatchObject({ error: { code: 'UNKNOWN_TOPIC' } });
    group.broker.cluster.topics.create({ name: 't' });
    await group.write('new');
    expect(valuesOf(await group.poll(member))).toEqual(['new']);
    expect(member.session.status.state).toBe('stable');
  });

  it('an offset of an open transaction delays the start', async () => {
    const group = new TestGroup();
    await group.write('a', 'b');
    const producer = memory({ broker: group.broker }).producer({ transactionalId: 't' });
    const transaction = await producer.transaction();
    const noMember = { groupId: 'g', memberId: '', generation: -1 };
    await transaction.sendOffsets({ ...noMember, offsets: [{ ...first, offset: 1 }] });
    const member = group.member();
    const started = member.start();
    await group.runtime.advance(3_000);
    expect(started.ended).toBe(false);
    await transaction.commit();
    await group.until(() => started.ended);
    expect(valuesOf(await group.poll(member))).toEqual(['b']);
  });

  it('a missing permission is reported and retried slowly until it is granted', async () => {
    const group = new TestGroup();
    group.broker.faults.refuse({ operation: 'join' }, 'GROUP_AUTHORIZATION_FAILED', { times: 3 });
    const member = group.member();
    const started = member.start();
    await group.runtime.advance(10_000);
    expect(started.ended).toBe(false);
    expect(member.session.status).toMatchObject({
      state: 'retrying',
      error: expect.any(AuthorizationError),
    });
    await group.runtime.advance(10_000);
    expect(started.error).toBeUndefined();
    expect(member.session.status.state).toBe('stable');
  });
});

describe('closing a session', () => {
  it('ends after a bounded time even if onRevoked never returns', async () => {
    const group = new TestGroup();
    const member = await group.join(
      { rebalanceTimeoutMs: 5_000 },
      { onRevoked: () => new Promise(() => undefined) },
    );
    const closed = observe(member.session.close());
    await group.runtime.advance(4_499);
    expect(closed.ended).toBe(false);
    await group.runtime.advance(1);
    expect([closed.ended, member.session.status.state]).toEqual([true, 'closed']);
    expect(member.callbacks).toEqual(['assigned t-0', 'revoked t-0', 'lost t-0']);
  });

  it('waits at most 5 s for the commit of start positions', async () => {
    const group = new TestGroup();
    const options = { offsetReset: 'latest', rebalanceTimeoutMs: 60_000 } as const;
    group.broker.faults.refuse({ operation: 'commit' }, 'NOT_COORDINATOR');
    const member = await group.join(options);
    const closed = observe(member.session.close());
    await group.runtime.advance(4_900);
    expect(closed.ended).toBe(false);
    await group.runtime.advance(1_000);
    expect(closed.ended).toBe(true);
  });

  it('assigns the partitions to the other members at once', async () => {
    const group = new TestGroup(2);
    const [one, other] = [await group.join(), await group.join()];
    await group.until(() => one.session.assignment().length === 1);
    await one.session.close();
    const since = group.runtime.monotonic();
    await group.until(() => other.session.assignment().length === 2);
    expect(group.runtime.monotonic() - since).toBeLessThan(15_000);
  });
});

describe('a revocation', () => {
  it('may take longer than the session timeout: heartbeats continue, and its commit is stored', async () => {
    const group = new TestGroup(2);
    const handBack = new Deferred();
    const options = {
      assignors: ['sticky'],
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 30_000,
    } as const;
    const member = await group.join(options, {
      onRevoked: async () => {
        await handBack.promise;
        await member.session.commit([{ ...first, offset: 1 }]);
      },
    });
    const other = group.member(options);
    const joined = other.start();
    await group.runtime.advance(20_000);
    expect([joined.ended, member.callbacks]).toEqual([
      false,
      ['assigned t-0 t-1', 'revoked t-0 t-1'],
    ]);
    handBack.resolve();
    await group.until(() => joined.ended && member.session.status.state === 'stable');
    expect(member.callbacks.filter((line) => line.startsWith('lost'))).toEqual([]);
    expect((await member.session.committed([first]))[0]?.offset).toBe(1);
  });

  it('is fenced if it exceeds the rebalance timeout, and the loss is reported meanwhile', async () => {
    const group = new TestGroup();
    const handBack = new Deferred();
    const options = {
      assignors: ['sticky'],
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 8_000,
    } as const;
    const member = await group.join(options, { onRevoked: () => handBack.promise });
    const other = group.member(options);
    const joined = other.start();
    await group.until(() => joined.ended);
    await group.until(() => member.session.assignment().length === 0);
    const commit = member.session.commit([{ ...first, offset: 1 }]);
    await expect(commit).rejects.toBeInstanceOf(FencedError);
    expect(member.callbacks.slice(0, 3)).toEqual(['assigned t-0', 'revoked t-0', 'lost t-0']);
    handBack.resolve();
  });
});
