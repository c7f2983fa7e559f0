import { createTestCluster } from '../test-cluster.spec-support.js';
import type { ConsumerHeartbeatRequest } from './consumer-member.js';
import type { RefusalName } from '../faults/refusal.js';

const SESSION_MS = 9_000;
const REBALANCE_MS = 5_000;
const refused = (reason: RefusalName) => expect.objectContaining({ reason });
const of = (...numbers: number[]) => numbers.map((partition) => ({ topic: 't', partition }));

class Scene {
  readonly #under = createTestCluster({ consumerSessionTimeoutMs: SESSION_MS });
  readonly runtime = this.#under.runtime;
  readonly groups = this.#under.cluster.groups;
  readonly topics = this.#under.cluster.topics;

  constructor() {
    this.topics.create({ name: 't', partitions: 2 });
  }

  beat(
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

describe('A group whose broker decides', () => {
  let scene: Scene;
  beforeEach(() => (scene = new Scene()));

  it('gives a newcomer what the others have let go, and not before', () => {
    expect(scene.beat('a', 0)).toBe('1: 0 1');
    expect(scene.beat('b', 0)).toBe('2:');
    expect(scene.beat('a', 1, [0, 1])).toBe('1: 1');
    expect(scene.beat('b', 2)).toBe('2:');
    expect(scene.beat('a', 1, [1])).toBe('2: 1');
    expect(scene.beat('b', 2)).toBe('2: 0');
  });

  it('throws out who does not let go within its rebalance time-out', async () => {
    scene.beat('a', 0);
    scene.beat('b', 0);
    scene.beat('a', 1, [0, 1]);
    await scene.runtime.advance(REBALANCE_MS - 1);
    scene.beat('a', 1, [0, 1]);
    scene.beat('b', 2);
    await scene.runtime.advance(1);
    expect(() => scene.beat('a', 1, [0, 1])).toThrow(refused('UNKNOWN_MEMBER_ID'));
    expect(scene.beat('b', 2)).toBe('3: 0 1');
  });

  it('throws out who is silent for a session', async () => {
    scene.beat('a', 0);
    await scene.runtime.advance(SESSION_MS);
    expect(() => scene.beat('a', 1)).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('takes the epoch before for one whose answer was lost, and no other', () => {
    scene.beat('a', 0);
    scene.groups.leave('g', 'a');
    scene.beat('b', 0);
    scene.topics.addPartitions('t', 3);
    expect(scene.beat('b', 3, [0, 1])).toBe('4: 0 1 2');
    expect(scene.beat('b', 3, [0, 1])).toBe('4: 0 1 2');
    expect(() => scene.beat('b', 2)).toThrow(refused('FENCED_MEMBER_EPOCH'));
    expect(() => scene.beat('b', 5)).toThrow(refused('FENCED_MEMBER_EPOCH'));
  });

  it('stores offsets of the member in its epoch only', () => {
    scene.beat('a', 0);
    expect(scene.commit('a', 1)).toEqual([]);
    expect(() => scene.commit('a', 2)).toThrow(refused('STALE_MEMBER_EPOCH'));
    expect(() => scene.commit('b', 1)).toThrow(refused('UNKNOWN_MEMBER_ID'));
    expect(() => scene.commit('', -1)).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('has one member for an instance id, until that one has said that it is away', () => {
    const pod = { groupInstanceId: 'pod' };
    scene.beat('a', 0, [], pod);
    expect(() => scene.beat('b', 0, [], pod)).toThrow(refused('UNRELEASED_INSTANCE_ID'));
    scene.groups.leave('g', 'a');
    expect(scene.beat('b', 0, [], pod)).toBe('1: 0 1');
    expect(() => scene.beat('a', 1, [0, 1], pod)).toThrow(refused('UNKNOWN_MEMBER_ID'));
  });

  it('is of one kind: members of the other are refused while it has any', () => {
    scene.beat('a', 0);
    const classic = () =>
      scene.groups.join({
        groupId: 'g',
        memberId: '',
        clientId: 'c',
        sessionTimeoutMs: 10_000,
        rebalanceTimeoutMs: REBALANCE_MS,
        protocolType: 'consumer',
        protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
      });
    expect(classic).toThrow(refused('INCONSISTENT_GROUP_PROTOCOL'));
    scene.groups.leave('g', 'a');
    expect(classic).toThrow(refused('MEMBER_ID_REQUIRED'));
  });
});
