import { VirtualRuntime } from '../../../runtime/index.js';
import type { JoinResponse } from './classic-member.js';
import { ClassicGroup } from './classic-group.js';
import type { RefusalName } from '../faults/refusal.js';

const SESSION_MS = 6_000;
const REBALANCE_MS = 20_000;
const refused = (reason: RefusalName) => expect.objectContaining({ reason });

/** A group of static members, each named by its instance. */
class Bench {
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

  /** `a` leads and `b` follows, in generation 2; each has its own letter. */
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

describe('Static members of a group', () => {
  it('need no id first', async () => {
    const bench = new Bench();
    expect(await bench.join('a')).toMatchObject({ generation: 1, skipAssignment: false });
  });

  it.each(['a', 'b'] as const)(
    '%s comes back to its share and its place, and nothing else happens',
    async (name) => {
      const bench = new Bench();
      const before = (await bench.stable())[name];
      const back = await bench.join(name);
      expect(back.generation).toBe(before.generation);
      expect(back.memberId).not.toBe(before.memberId);
      expect([bench.group.state, bench.group.members.size]).toEqual(['Stable', 2]);
      expect([back.leaderId === back.memberId, back.skipAssignment]).toEqual(
        name === 'a' ? [true, true] : [false, false],
      );
      const share = await bench.group.sync(bench.identity(back, name), new Map());
      expect(share.toString()).toBe(`share of ${name}`);
    },
  );

  it('that were replaced are fenced in whatever they ask', async () => {
    const bench = new Bench();
    const { b } = await bench.stable();
    await bench.join('b');
    const old = bench.identity(b, 'b');
    const fenced = refused('FENCED_INSTANCE_ID');
    expect(() => bench.group.heartbeat(old)).toThrow(fenced);
    expect(() => bench.group.checkCommit(old)).toThrow(fenced);
    expect(() => bench.group.checkTransactionalCommit(old)).toThrow(fenced);
    expect(() => bench.group.sync(old, new Map())).toThrow(fenced);
    expect(() => bench.join('b', b.memberId)).toThrow(fenced);
    // Without the id the broker can only say that it does not know the member.
    expect(() => bench.group.heartbeat({ ...old, groupInstanceId: null })).toThrow(
      refused('UNKNOWN_MEMBER_ID'),
    );
  });

  it('that are replaced while they join are told so at once', async () => {
    const bench = new Bench();
    const { a, b } = await bench.stable();
    const joining = bench.join('b', b.memberId, ['range', 'sticky']);
    const successor = bench.join('b');
    await expect(joining).rejects.toEqual(refused('FENCED_INSTANCE_ID'));
    void bench.join('a', a.memberId);
    await expect(successor).resolves.toMatchObject({ generation: 3 });
  });

  it('that come back with other assignors rebalance the group, when that changes its choice', async () => {
    const bench = new Bench();
    const alone = await bench.join('a', '', ['sticky', 'range']);
    await bench.group.sync(bench.identity(alone, 'a'), new Map());
    void bench.join('a', '', ['range']);
    expect(bench.group.generation).toBe(2);
  });

  it('are kept through a rebalance that they miss, and removed when their session is over', async () => {
    const bench = new Bench();
    const { a } = await bench.stable();
    const joined = bench.join('a', a.memberId, ['sticky', 'range']);
    await bench.runtime.advance(SESSION_MS - 1);
    expect(bench.group.members.size).toBe(2);
    await bench.runtime.advance(1);
    await expect(joined).resolves.toMatchObject({ generation: 3 });
    expect(bench.group.members.size).toBe(1);
    // The name is free again.
    const next = bench.join('b');
    void bench.join('a', a.memberId, ['sticky', 'range']);
    await expect(next).resolves.toMatchObject({ generation: 4 });
  });

  it('that are away when the group has joined do not lead it', async () => {
    const bench = new Bench();
    const { b } = await bench.stable();
    const joined = bench.join('b', b.memberId, ['sticky', 'range']);
    await bench.runtime.advance(SESSION_MS);
    await expect(joined).resolves.toMatchObject({ leaderId: b.memberId });
  });
});
