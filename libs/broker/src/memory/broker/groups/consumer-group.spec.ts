import { createTestCluster } from '../test-cluster.spec-support.js';
import type { ConsumerHeartbeatRequest } from './consumer-member.js';
import type { RefusalName } from '../faults/refusal.js';

const SESSION_MS = 9_000;
const REBALANCE_MS = 5_000;
const refused = (reason: RefusalName) => expect.objectContaining({ reason });
const of = (...numbers: number[]) => numbers.map((partition) => ({ topic: 't', partition }));

class GroupSetup {
  readonly #under = createTestCluster({ consumerSessionTimeoutMs: SESSION_MS });
  readonly runtime = this.#under.runtime;
  readonly groups = this.#under.cluster.groups;
  readonly topics = this.#under.cluster.topics;

  constructor() {
    this.topics.create({ name: 't', partitions: 2 });
  }

  heartbeat(
    memberId: string,
    epoch: number,
    owned: number[] = [],
    more: Partial<ConsumerHeartbeatRequest> = {},
  ) {
    const { assignment, ...answer } = this.groups.consumerHeartbeat({
      groupId: 'g',
      memberId,
      groupInstanceId: null,
      clientId: 'c',
      epoch,
      topics: ['t'],
      rebalanceTimeoutMs: REBALANCE_MS,
      owned: of(...owned),
      ...more,
    });
    return `${answer.epoch}: ${assignment.map(({ partition }) => partition).join(' ')}`.trimEnd();
  }

  commit(memberId: string, generation: number) {
    const member = { groupId: 'g', memberId, generation };
    return this.groups.commit(member, [{ ...of(0)[0]!, offset: 1 }], () => undefined);
  }
}

describe('ConsumerGroup', () => {
  let group: GroupSetup;
  beforeEach(() => (group = new GroupSetup()));

  it('assigns partitions to a new member only after the others have released them', () => {
    expect(group.heartbeat('a', 0)).toBe('1: 0 1');
    expect(group.heartbeat('b', 0)).toBe('2:');
    expect(group.heartbeat('a', 1, [0, 1])).toBe('1: 1');
    expect(group.heartbeat('b', 2)).toBe('2:');
    expect(group.heartbeat('a', 1, [1])).toBe('2: 1');
    expect(group.heartbeat('b', 2)).toBe('2: 0');
  });

  it('removes a member that does not release partitions within its rebalance timeout', async () => {
    group.heartbeat('a', 0);
    group.heartbeat('b', 0);
    group.heartbeat('a', 1, [0, 1]);
    await group.runtime.advance(REBALANCE_MS - 1);
    group.heartbeat('a', 1, [0, 1]);
    group.heartbeat('b', 2);
    await group.runtime.advance(1);
    expect(() => group.heartbeat('a', 1, [0, 1])).toThrow(refused('UNKNOWN_MEMBER_ID'));
    expect(group.heartbeat('b', 2)).toBe('3: 0 1');
  });

  it('removes a member without a heartbeat within the session timeout', async () => {
    group.heartbeat('a', 0);
    await group.runtime.advance(SESSION_MS);
    expect(() => group.heartbeat('a', 1)).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('accepts the previous epoch after a lost response, and no other', () => {
    group.heartbeat('a', 0);
    group.groups.leave('g', 'a');
    group.heartbeat('b', 0);
    group.topics.addPartitions('t', 3);
    expect(group.heartbeat('b', 3, [0, 1])).toBe('4: 0 1 2');
    expect(group.heartbeat('b', 3, [0, 1])).toBe('4: 0 1 2');
    expect(() => group.heartbeat('b', 2)).toThrow(refused('FENCED_MEMBER_EPOCH'));
    expect(() => group.heartbeat('b', 5)).toThrow(refused('FENCED_MEMBER_EPOCH'));
  });

  it('stores offsets of a member only in its current epoch', () => {
    group.heartbeat('a', 0);
    expect(group.commit('a', 1)).toEqual([]);
    expect(() => group.commit('a', 2)).toThrow(refused('STALE_MEMBER_EPOCH'));
    expect(() => group.commit('b', 1)).toThrow(refused('UNKNOWN_MEMBER_ID'));
    expect(() => group.commit('', -1)).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('refuses a second member with an instance id until the first has left temporarily', () => {
    const pod = { groupInstanceId: 'pod' };
    group.heartbeat('a', 0, [], pod);
    expect(() => group.heartbeat('b', 0, [], pod)).toThrow(refused('UNRELEASED_INSTANCE_ID'));
    group.groups.leave('g', 'a');
    expect(group.heartbeat('b', 0, [], pod)).toBe('1: 0 1');
    expect(() => group.heartbeat('a', 1, [0, 1], pod)).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('refuses members of the other protocol while it has any member', () => {
    group.heartbeat('a', 0);
    const classic = () =>
      group.groups.join({
        groupId: 'g',
        memberId: '',
        clientId: 'c',
        sessionTimeoutMs: 10_000,
        rebalanceTimeoutMs: REBALANCE_MS,
        protocolType: 'consumer',
        protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
      });
    expect(classic).toThrow(refused('INCONSISTENT_GROUP_PROTOCOL'));
    group.groups.leave('g', 'a');
    expect(classic).toThrow(refused('MEMBER_ID_REQUIRED'));
  });
});
