import { VirtualRuntime } from '../../../runtime/index.js';
import type { JoinResponse } from './classic-member.js';
import { ClassicGroup } from './classic-group.js';
import { MemberIdRequired, type RefusalName } from '../faults/refusal.js';

const SESSION_MS = 6_000;
const REBALANCE_MS = 20_000;

class GroupSetup {
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

  /** Sends the first join without a member id, which only returns an id. */
  newId(): string {
    try {
      void this.join();
    } catch (error) {
      if (error instanceof MemberIdRequired) return error.memberId;
      throw error;
    }
    throw new Error('The group took a member without an id.');
  }

  /** Joins and syncs so many members; the first one leads. */
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

describe('ClassicGroup.join', () => {
  it('requires a member id first, and then starts generation 1 with one member', async () => {
    const setup = new GroupSetup();
    const id = setup.newId();
    const answer = await setup.join(id);
    expect(answer).toMatchObject({ generation: 1, memberId: id, leaderId: id, protocol: 'range' });
    expect(answer.members.map(({ memberId }) => memberId)).toEqual([id]);
    expect(setup.group.state).toBe('CompletingRebalance');
  });

  it('waits for the initial delay, so that members that start together cause one rebalance', async () => {
    const setup = new GroupSetup(3_000);
    const [one, other] = [setup.newId(), setup.newId()];
    const joins = [setup.join(one), setup.join(other)];
    await setup.runtime.advance(2_999);
    expect(setup.group.state).toBe('PreparingRebalance');
    await setup.runtime.advance(1);
    expect((await Promise.all(joins)).map(({ generation }) => generation)).toEqual([1, 1]);
  });

  it('refuses an unknown member id, and a member without a common assignor', async () => {
    const setup = new GroupSetup();
    await setup.stable(1);
    expect(() => setup.join('unknown')).toThrow(refused('UNKNOWN_MEMBER_ID'));
    expect(() => setup.join('', 'same', ['sticky'])).toThrow(
      refused('INCONSISTENT_GROUP_PROTOCOL'),
    );
  });

  it('chooses the protocol that most members prefer among those that all support', async () => {
    const setup = new GroupSetup();
    const [first, second] = [setup.newId(), setup.newId()];
    await setup.join(first, 'm', ['sticky', 'range']);
    const joins = [setup.join(second, 'm', ['range', 'sticky', 'exotic'])];
    joins.push(setup.join(first, 'm', ['range', 'sticky']));
    expect((await Promise.all(joins)).map(({ protocol }) => protocol)).toEqual(['range', 'range']);
  });

  it('keeps the generation when a follower repeats its join', async () => {
    const setup = new GroupSetup();
    const [, follower = ''] = await setup.stable(2);
    const { generation } = setup.group;
    expect((await setup.join(follower)).generation).toBe(generation);
    expect(setup.group.state).toBe('Stable');
  });

  it('starts a rebalance when the leader rejoins, and when topics change', async () => {
    const setup = new GroupSetup();
    const [leader = '', follower = ''] = await setup.stable(2);
    void setup.join(leader);
    expect(setup.group.state).toBe('PreparingRebalance');
    await setup.join(follower);
    await setup.sync([leader, follower]);
    void setup.join(follower, 'changed');
    expect(setup.group.state).toBe('PreparingRebalance');
  });

  it('waits at most one session timeout for a member that got an id and never joined', async () => {
    const setup = new GroupSetup();
    const [member = ''] = await setup.stable(1);
    setup.newId();
    const join = setup.join(member);
    await setup.runtime.advance(SESSION_MS - 1);
    expect(setup.group.state).toBe('PreparingRebalance');
    await setup.runtime.advance(1);
    expect((await join).generation).toBe(2);
  });
});

describe('a rebalance of a ClassicGroup', () => {
  it('answers heartbeats with REBALANCE_IN_PROGRESS while it waits for joins, and normally afterwards', async () => {
    const setup = new GroupSetup();
    const [leader = '', follower = ''] = await setup.stable(2);
    void setup.join(leader);
    const { generation } = setup.group;
    expect(() => setup.group.heartbeat({ memberId: follower, generation: generation })).toThrow(
      refused('REBALANCE_IN_PROGRESS'),
    );
    await setup.join(follower);
    expect(setup.group.state).toBe('CompletingRebalance');
    setup.group.heartbeat({ memberId: follower, generation: generation + 1 });
  });

  it('accepts commits while it waits for joins, and none while it waits for the sync', async () => {
    const setup = new GroupSetup();
    const [leader = '', follower = ''] = await setup.stable(2);
    void setup.join(leader);
    const { generation } = setup.group;
    setup.group.checkCommit({ memberId: follower, generation: generation });
    await setup.join(follower);
    expect(() => setup.group.checkCommit({ memberId: follower, generation: generation })).toThrow(
      refused('ILLEGAL_GENERATION'),
    );
    expect(() =>
      setup.group.checkCommit({ memberId: follower, generation: generation + 1 }),
    ).toThrow(refused('REBALANCE_IN_PROGRESS'));
  });

  it('removes a member that does not rejoin within the rebalance timeout', async () => {
    const setup = new GroupSetup();
    const [leader = '', silent = ''] = await setup.stable(2);
    const { generation } = setup.group;
    const join = setup.join(leader);
    for (let waited = 0; waited < REBALANCE_MS; waited += 5_000) {
      expect(() => setup.group.heartbeat({ memberId: silent, generation: generation })).toThrow(
        refused('REBALANCE_IN_PROGRESS'),
      );
      await setup.runtime.advance(5_000);
    }
    expect((await join).members.map(({ memberId }) => memberId)).toEqual([leader]);
    expect(() => setup.group.heartbeat({ memberId: silent, generation: generation })).toThrow(
      refused('UNKNOWN_MEMBER_ID'),
    );
  });

  it('removes a member that joins and never syncs', async () => {
    const setup = new GroupSetup();
    const [leader = '', silent = ''] = await setup.stable(2);
    const joins = [setup.join(leader), setup.join(silent)];
    await Promise.all(joins);
    const sync = setup.group.sync(
      { memberId: leader, generation: setup.group.generation },
      shares([leader, silent]),
    );
    expect((await sync).toString()).toBe(`of ${leader}`);
    await setup.runtime.advance(SESSION_MS - 1);
    setup.group.heartbeat({ memberId: leader, generation: setup.group.generation });
    await setup.runtime.advance(1);
    expect([...setup.group.members.keys()]).toEqual([leader]);
  });

  it('answers waiting syncs when a new rebalance starts', async () => {
    const setup = new GroupSetup();
    const [leader = '', follower = ''] = await setup.stable(2);
    await Promise.all([setup.join(leader), setup.join(follower)]);
    const sync = setup.group.sync(
      { memberId: follower, generation: setup.group.generation },
      new Map(),
    );
    setup.group.leave(leader);
    await expect(sync).rejects.toEqual(refused('REBALANCE_IN_PROGRESS'));
  });

  it('sends zero bytes to a member that is not in the plan', async () => {
    const setup = new GroupSetup();
    const ids = [setup.newId(), setup.newId()];
    const [leader = '', leftOut = ''] = ids;
    await setup.join(leader);
    await Promise.all([setup.join(leftOut), setup.join(leader)]);
    const [, share] = await setup.sync(ids, shares([leader]));
    expect(share).toHaveLength(0);
  });
});

describe('a member of a ClassicGroup', () => {
  it('is removed without a heartbeat within the session timeout', async () => {
    const setup = new GroupSetup();
    const [leader = '', follower = ''] = await setup.stable(2);
    await setup.runtime.advance(SESSION_MS - 1);
    setup.group.heartbeat({ memberId: leader, generation: setup.group.generation });
    await setup.runtime.advance(1);
    expect([...setup.group.members.keys()]).toEqual([leader]);
    expect(() =>
      setup.group.heartbeat({ memberId: follower, generation: setup.group.generation }),
    ).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('stays in the group through commits without heartbeats', async () => {
    const setup = new GroupSetup();
    const [member = ''] = await setup.stable(1);
    for (let round = 0; round < 4; round++) {
      await setup.runtime.advance(SESSION_MS - 1);
      setup.group.checkCommit({ memberId: member, generation: setup.group.generation });
    }
    expect(setup.group.state).toBe('Stable');
  });

  it('commits only in its generation; anonymous commits are refused while the group has members', async () => {
    const setup = new GroupSetup();
    setup.group.checkCommit({ memberId: '', generation: -1 });
    const [member = ''] = await setup.stable(1);
    const { generation } = setup.group;
    expect(() => setup.group.checkCommit({ memberId: member, generation: generation - 1 })).toThrow(
      refused('ILLEGAL_GENERATION'),
    );
    expect(() => setup.group.checkCommit({ memberId: '', generation: -1 })).toThrow(
      refused('UNKNOWN_MEMBER_ID'),
    );
    setup.group.leave(member);
    setup.group.checkCommit({ memberId: '', generation: -1 });
  });

  it('leaves the group empty when it was the last one', async () => {
    const setup = new GroupSetup();
    const [member = ''] = await setup.stable(1);
    setup.group.leave(member);
    expect(setup.group.state).toBe('Empty');
    expect(() => setup.group.leave(member)).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('is not waited for if it leaves while its join is pending', async () => {
    const setup = new GroupSetup();
    const [leader = '', follower = ''] = await setup.stable(2);
    const join = setup.join(leader);
    setup.group.leave(leader);
    await expect(join).rejects.toEqual(refused('UNKNOWN_MEMBER_ID'));
    expect((await setup.join(follower)).leaderId).toBe(follower);
  });
});
