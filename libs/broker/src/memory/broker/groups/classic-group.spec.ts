import { VirtualRuntime } from '../../../runtime/index.js';
import type { JoinResponse } from './classic-member.js';
import { ClassicGroup } from './classic-group.js';
import { MemberIdRequired, type RefusalName } from '../faults/refusal.js';

const SESSION_MS = 6_000;
const REBALANCE_MS = 20_000;

class Bench {
  readonly runtime = new VirtualRuntime();
  readonly group: ClassicGroup;

  constructor(initialRebalanceDelayMs = 0) {
    this.group = new ClassicGroup('g', this.runtime, { initialRebalanceDelayMs });
  }

  join(
    memberId = '',
    metadata = 'same',
    names: readonly string[] = ['range'],
  ): Promise<JoinResponse> {
    return this.group.join({
      groupId: 'g',
      memberId,
      clientId: 'client',
      sessionTimeoutMs: SESSION_MS,
      rebalanceTimeoutMs: REBALANCE_MS,
      protocolType: 'consumer',
      protocols: names.map((name) => ({ name, metadata: Buffer.from(metadata) })),
    });
  }

  /** The first, anonymous join: it only gives an id. */
  newId(): string {
    try {
      void this.join();
    } catch (error) {
      if (error instanceof MemberIdRequired) return error.memberId;
      throw error;
    }
    throw new Error('The group took a member without an id.');
  }

  /** Joins so many members and syncs them; the first one leads. */
  async stable(count: number): Promise<readonly string[]> {
    const ids = Array.from({ length: count }, () => this.newId());
    for (const id of ids) void this.join(id).catch(() => undefined);
    for (const id of ids) void Promise.resolve(this.join(id)).catch(() => undefined);
    await this.sync(ids);
    return ids;
  }

  async sync(ids: readonly string[], plan: ReadonlyMap<string, Buffer> = shares(ids)) {
    const [leader = '', ...followers] = ids;
    const { generation } = this.group;
    const syncs = followers.map((id) =>
      this.group.sync({ memberId: id, generation: generation }, new Map()),
    );
    return Promise.all([
      this.group.sync({ memberId: leader, generation: generation }, plan),
      ...syncs,
    ]);
  }
}

const shares = (ids: readonly string[]) => new Map(ids.map((id) => [id, Buffer.from(`of ${id}`)]));
const refused = (reason: RefusalName) => expect.objectContaining({ reason });

describe('Joining a group', () => {
  it('takes an id first, and is then alone in generation 1', async () => {
    const bench = new Bench();
    const id = bench.newId();
    const answer = await bench.join(id);
    expect(answer).toMatchObject({ generation: 1, memberId: id, leaderId: id, protocol: 'range' });
    expect(answer.members.map(({ memberId }) => memberId)).toEqual([id]);
    expect(bench.group.state).toBe('CompletingRebalance');
  });

  it('waits the initial delay, so that a fleet that starts rebalances once', async () => {
    const bench = new Bench(3_000);
    const [one, other] = [bench.newId(), bench.newId()];
    const joins = [bench.join(one), bench.join(other)];
    await bench.runtime.advance(2_999);
    expect(bench.group.state).toBe('PreparingRebalance');
    await bench.runtime.advance(1);
    expect((await Promise.all(joins)).map(({ generation }) => generation)).toEqual([1, 1]);
  });

  it('is refused with an id that was never given, and without a common assignor', async () => {
    const bench = new Bench();
    await bench.stable(1);
    expect(() => bench.join('somebody')).toThrow(refused('UNKNOWN_MEMBER_ID'));
    expect(() => bench.join('', 'same', ['sticky'])).toThrow(
      refused('INCONSISTENT_GROUP_PROTOCOL'),
    );
  });

  it('settles on what most members like best among what all have', async () => {
    const bench = new Bench();
    const [first, second] = [bench.newId(), bench.newId()];
    await bench.join(first, 'm', ['sticky', 'range']);
    const joins = [bench.join(second, 'm', ['range', 'sticky', 'exotic'])];
    joins.push(bench.join(first, 'm', ['range', 'sticky']));
    expect((await Promise.all(joins)).map(({ protocol }) => protocol)).toEqual(['range', 'range']);
  });

  it('keeps its generation for a follower that asks for the same again', async () => {
    const bench = new Bench();
    const [, follower = ''] = await bench.stable(2);
    const { generation } = bench.group;
    expect((await bench.join(follower)).generation).toBe(generation);
    expect(bench.group.state).toBe('Stable');
  });

  it('starts a rebalance for a leader that joins again, and for changed topics', async () => {
    const bench = new Bench();
    const [leader = '', follower = ''] = await bench.stable(2);
    void bench.join(leader);
    expect(bench.group.state).toBe('PreparingRebalance');
    await bench.join(follower);
    await bench.sync([leader, follower]);
    void bench.join(follower, 'changed');
    expect(bench.group.state).toBe('PreparingRebalance');
  });

  it('does not wait longer than a session time-out for who took an id and went away', async () => {
    const bench = new Bench();
    const [member = ''] = await bench.stable(1);
    bench.newId();
    const join = bench.join(member);
    await bench.runtime.advance(SESSION_MS - 1);
    expect(bench.group.state).toBe('PreparingRebalance');
    await bench.runtime.advance(1);
    expect((await join).generation).toBe(2);
  });
});

describe('A rebalance', () => {
  it('answers heartbeats by REBALANCE_IN_PROGRESS while it waits, and normally after that', async () => {
    const bench = new Bench();
    const [leader = '', follower = ''] = await bench.stable(2);
    void bench.join(leader);
    const { generation } = bench.group;
    expect(() => bench.group.heartbeat({ memberId: follower, generation: generation })).toThrow(
      refused('REBALANCE_IN_PROGRESS'),
    );
    await bench.join(follower);
    expect(bench.group.state).toBe('CompletingRebalance');
    bench.group.heartbeat({ memberId: follower, generation: generation + 1 });
  });

  it('takes commits while it waits and none while it completes', async () => {
    const bench = new Bench();
    const [leader = '', follower = ''] = await bench.stable(2);
    void bench.join(leader);
    const { generation } = bench.group;
    bench.group.checkCommit({ memberId: follower, generation: generation });
    await bench.join(follower);
    expect(() => bench.group.checkCommit({ memberId: follower, generation: generation })).toThrow(
      refused('ILLEGAL_GENERATION'),
    );
    expect(() =>
      bench.group.checkCommit({ memberId: follower, generation: generation + 1 }),
    ).toThrow(refused('REBALANCE_IN_PROGRESS'));
  });

  it('goes on without who does not rejoin within the rebalance time-out', async () => {
    const bench = new Bench();
    const [leader = '', silent = ''] = await bench.stable(2);
    const { generation } = bench.group;
    const join = bench.join(leader);
    for (let waited = 0; waited < REBALANCE_MS; waited += 5_000) {
      expect(() => bench.group.heartbeat({ memberId: silent, generation: generation })).toThrow(
        refused('REBALANCE_IN_PROGRESS'),
      );
      await bench.runtime.advance(5_000);
    }
    expect((await join).members.map(({ memberId }) => memberId)).toEqual([leader]);
    expect(() => bench.group.heartbeat({ memberId: silent, generation: generation })).toThrow(
      refused('UNKNOWN_MEMBER_ID'),
    );
  });

  it('goes on without who joins and never syncs', async () => {
    const bench = new Bench();
    const [leader = '', silent = ''] = await bench.stable(2);
    const joins = [bench.join(leader), bench.join(silent)];
    await Promise.all(joins);
    const sync = bench.group.sync(
      { memberId: leader, generation: bench.group.generation },
      shares([leader, silent]),
    );
    expect((await sync).toString()).toBe(`of ${leader}`);
    await bench.runtime.advance(SESSION_MS - 1);
    bench.group.heartbeat({ memberId: leader, generation: bench.group.generation });
    await bench.runtime.advance(1);
    expect([...bench.group.members.keys()]).toEqual([leader]);
  });

  it('is answered to syncs that wait when it begins anew', async () => {
    const bench = new Bench();
    const [leader = '', follower = ''] = await bench.stable(2);
    await Promise.all([bench.join(leader), bench.join(follower)]);
    const sync = bench.group.sync(
      { memberId: follower, generation: bench.group.generation },
      new Map(),
    );
    bench.group.leave(leader);
    await expect(sync).rejects.toEqual(refused('REBALANCE_IN_PROGRESS'));
  });

  it('gives zero bytes to a member that the plan leaves out', async () => {
    const bench = new Bench();
    const ids = [bench.newId(), bench.newId()];
    const [leader = '', leftOut = ''] = ids;
    await bench.join(leader);
    await Promise.all([bench.join(leftOut), bench.join(leader)]);
    const [, share] = await bench.sync(ids, shares([leader]));
    expect(share).toHaveLength(0);
  });
});

describe('A member', () => {
  it('dies when nothing is heard of it for a session time-out', async () => {
    const bench = new Bench();
    const [leader = '', follower = ''] = await bench.stable(2);
    await bench.runtime.advance(SESSION_MS - 1);
    bench.group.heartbeat({ memberId: leader, generation: bench.group.generation });
    await bench.runtime.advance(1);
    expect([...bench.group.members.keys()]).toEqual([leader]);
    expect(() =>
      bench.group.heartbeat({ memberId: follower, generation: bench.group.generation }),
    ).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('lives by commits as well', async () => {
    const bench = new Bench();
    const [member = ''] = await bench.stable(1);
    for (let round = 0; round < 4; round++) {
      await bench.runtime.advance(SESSION_MS - 1);
      bench.group.checkCommit({ memberId: member, generation: bench.group.generation });
    }
    expect(bench.group.state).toBe('Stable');
  });

  it('commits only in its generation; nobody may, anonymously, while there are members', async () => {
    const bench = new Bench();
    bench.group.checkCommit({ memberId: '', generation: -1 });
    const [member = ''] = await bench.stable(1);
    const { generation } = bench.group;
    expect(() => bench.group.checkCommit({ memberId: member, generation: generation - 1 })).toThrow(
      refused('ILLEGAL_GENERATION'),
    );
    expect(() => bench.group.checkCommit({ memberId: '', generation: -1 })).toThrow(
      refused('UNKNOWN_MEMBER_ID'),
    );
    bench.group.leave(member);
    bench.group.checkCommit({ memberId: '', generation: -1 });
  });

  it('leaves the group empty when it was the last one', async () => {
    const bench = new Bench();
    const [member = ''] = await bench.stable(1);
    bench.group.leave(member);
    expect(bench.group.state).toBe('Empty');
    expect(() => bench.group.leave(member)).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('that leaves while its join waits is not waited for', async () => {
    const bench = new Bench();
    const [leader = '', follower = ''] = await bench.stable(2);
    const join = bench.join(leader);
    bench.group.leave(leader);
    await expect(join).rejects.toEqual(refused('UNKNOWN_MEMBER_ID'));
    expect((await bench.join(follower)).leaderId).toBe(follower);
  });
});
