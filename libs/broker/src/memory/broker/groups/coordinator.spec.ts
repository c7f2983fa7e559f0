import { createTestCluster } from '../test-cluster.spec-support.js';
import type { RefusalName } from '../faults/refusal.js';

const noMember = { groupId: 'g', memberId: '', generation: -1 };
const partition = { topic: 't', partition: 0 };
const DAY_MS = 24 * 3_600_000;
const refused = (reason: RefusalName) => expect.objectContaining({ reason });
const nothingRefused = () => undefined;

function setUp() {
  const { runtime, cluster } = createTestCluster({ minSessionTimeoutMs: 6_000 });
  cluster.topics.create({ name: 't' });
  return { runtime, topics: cluster.topics, groups: cluster.groups };
}

describe('Coordinator', () => {
  it('refuses a session timeout outside of the allowed range', () => {
    const { groups } = setUp();
    const join = (sessionTimeoutMs: number) => () =>
      groups.join({
        groupId: 'g',
        memberId: '',
        clientId: 'c',
        sessionTimeoutMs,
        rebalanceTimeoutMs: 1_000,
        protocolType: 'consumer',
        protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
      });
    expect(join(5_999)).toThrow(refused('INVALID_SESSION_TIMEOUT'));
    expect(join(1_800_001)).toThrow(refused('INVALID_SESSION_TIMEOUT'));
    expect(join(6_000)).toThrow(refused('MEMBER_ID_REQUIRED'));
  });

  it('stores lower and unusual offsets, which clients have to prevent', () => {
    const { groups } = setUp();
    for (const offset of [9, 3])
      expect(groups.commit(noMember, [{ ...partition, offset }], nothingRefused)).toEqual([]);
    expect(groups.allCommitted('g')).toEqual([
      { ...partition, offset: 3, metadata: '', leaderEpoch: -1 },
    ]);
  });

  it('stores the other partitions of a commit if one is refused', () => {
    const { groups } = setUp();
    const unknown = { topic: 'missing', partition: 0 };
    const answer = groups.commit(
      noMember,
      [
        { ...unknown, offset: 1 },
        { ...partition, offset: 1 },
      ],
      nothingRefused,
    );
    expect(answer).toEqual([
      { partition: unknown, refusal: refused('UNKNOWN_TOPIC_OR_PARTITION') },
    ]);
    expect(groups.allCommitted('g')).toHaveLength(1);
  });

  it('deletes the offsets of a group one week after it became empty', async () => {
    const { runtime, groups } = setUp();
    groups.commit(noMember, [{ ...partition, offset: 1 }], nothingRefused);
    await runtime.advance(7 * DAY_MS);
    expect(groups.allCommitted('g')).toHaveLength(1);
    await runtime.advance(1);
    expect(groups.allCommitted('g')).toEqual([]);
  });

  it('deletes the offsets of a deleted topic', () => {
    const { groups, topics } = setUp();
    groups.commit(noMember, [{ ...partition, offset: 1 }], nothingRefused);
    topics.delete('t');
    expect(groups.allCommitted('g')).toEqual([]);
  });

  it('describes an unknown group as dead, and does not create it', () => {
    const { groups } = setUp();
    expect(groups.describe('unknown').state).toBe('Dead');
    expect(groups.committed('unknown', [partition])).toEqual([{ kind: 'none', partition }]);
    expect(() => groups.delete('unknown')).toThrow(refused('GROUP_ID_NOT_FOUND'));
    expect(groups.list()).toEqual([]);
  });
});
