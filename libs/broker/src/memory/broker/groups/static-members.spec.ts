import { VirtualRuntime } from '../../../runtime/index.js';
import type { JoinResponse } from './classic-member.js';
import { ClassicGroup } from './classic-group.js';
import type { RefusalName } from '../faults/refusal.js';

const SESSION_MS = 6_000;
const REBALANCE_MS = 20_000;
const refused = (reason: RefusalName) => expect.objectContaining({ reason });

/** A group of static members; the instance id is their name. */
class GroupSetup {
  readonly runtime = new VirtualRuntime();
  readonly group = new ClassicGroup('g', this.runtime, { initialRebalanceDelayMs: 0 });

  join(groupInstanceId: string, memberId = '', names = ['range']): Promise<JoinResponse> {
    const answer = this.group.join({
      groupId: 'g',
      memberId,
      groupInstanceId,
      clientId: 'client',
      sessionTimeoutMs: SESSION_MS,
      rebalanceTimeoutMs: REBALANCE_MS,
      protocolType: 'consumer',
      protocols: names.map((name) => ({ name, metadata: Buffer.from('same') })),
    });
    answer.catch(() => undefined);
    return answer;
  }

  identity({ memberId, generation }: JoinResponse, groupInstanceId: string) {
    return { memberId, generation, groupInstanceId };
  }

  /**
   * Creates a stable group: `a` leads and `b` follows, in generation 2, each with its own
   * assignment bytes.
   */
  async stable() {
    const alone = await this.join('a');
    const b = this.join('b');
    const answers = await Promise.all([this.join('a', alone.memberId), b]);
    const [leading, following] = answers;
    const plan = new Map([
      [leading.memberId, Buffer.from('share of a')],
      [following.memberId, Buffer.from('share of b')],
    ]);
    await Promise.all([
      this.group.sync(this.identity(leading, 'a'), plan),
      this.group.sync(this.identity(following, 'b'), new Map()),
    ]);
    return { a: leading, b: following };
  }
}

describe('static members of a ClassicGroup', () => {
  it('join without a member id first', async () => {
    const setup = new GroupSetup();
    expect(await setup.join('a')).toMatchObject({ generation: 1, skipAssignment: false });
  });

  it.each(['a', 'b'] as const)(
    '%s restarts with its assignment and role, and without a rebalance',
    async (name) => {
      const setup = new GroupSetup();
      const before = (await setup.stable())[name];
      const back = await setup.join(name);
      expect(back.generation).toBe(before.generation);
      expect(back.memberId).not.toBe(before.memberId);
      expect([setup.group.state, setup.group.members.size]).toEqual(['Stable', 2]);
      expect([back.leaderId === back.memberId, back.skipAssignment]).toEqual(
        name === 'a' ? [true, true] : [false, false],
      );
      const share = await setup.group.sync(setup.identity(back, name), new Map());
      expect(share.toString()).toBe(`share of ${name}`);
    },
  );

  it('are fenced in all requests after they were replaced', async () => {
    const setup = new GroupSetup();
    const { b } = await setup.stable();
    await setup.join('b');
    const old = setup.identity(b, 'b');
    const fenced = refused('FENCED_INSTANCE_ID');
    expect(() => setup.group.heartbeat(old)).toThrow(fenced);
    expect(() => setup.group.checkCommit(old)).toThrow(fenced);
    expect(() => setup.group.checkTransactionalCommit(old)).toThrow(fenced);
    expect(() => setup.group.sync(old, new Map())).toThrow(fenced);
    expect(() => setup.join('b', b.memberId)).toThrow(fenced);
    // Without the instance id the broker can only answer that it does not know the member.
    expect(() => setup.group.heartbeat({ ...old, groupInstanceId: null })).toThrow(
      refused('UNKNOWN_MEMBER_ID'),
    );
  });

  it('are answered at once if they are replaced while they join', async () => {
    const setup = new GroupSetup();
    const { a, b } = await setup.stable();
    const joining = setup.join('b', b.memberId, ['range', 'sticky']);
    const successor = setup.join('b');
    await expect(joining).rejects.toEqual(refused('FENCED_INSTANCE_ID'));
    void setup.join('a', a.memberId);
    await expect(successor).resolves.toMatchObject({ generation: 3 });
  });

  it("cause a rebalance if they restart with other assignors and the group's choice changes", async () => {
    const setup = new GroupSetup();
    const alone = await setup.join('a', '', ['sticky', 'range']);
    await setup.group.sync(setup.identity(alone, 'a'), new Map());
    void setup.join('a', '', ['range']);
    expect(setup.group.generation).toBe(2);
  });

  it('stay in the group during a rebalance that they miss, and are removed after their session timeout', async () => {
    const setup = new GroupSetup();
    const { a } = await setup.stable();
    const joined = setup.join('a', a.memberId, ['sticky', 'range']);
    await setup.runtime.advance(SESSION_MS - 1);
    expect(setup.group.members.size).toBe(2);
    await setup.runtime.advance(1);
    await expect(joined).resolves.toMatchObject({ generation: 3 });
    expect(setup.group.members.size).toBe(1);
    // The instance id is free again.
    const next = setup.join('b');
    void setup.join('a', a.memberId, ['sticky', 'range']);
    await expect(next).resolves.toMatchObject({ generation: 4 });
  });

  it('do not become leader if they are absent when the group has joined', async () => {
    const setup = new GroupSetup();
    const { b } = await setup.stable();
    const joined = setup.join('b', b.memberId, ['sticky', 'range']);
    await setup.runtime.advance(SESSION_MS);
    await expect(joined).resolves.toMatchObject({ leaderId: b.memberId });
  });
});
