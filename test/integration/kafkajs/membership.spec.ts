import { Cluster, kafkajsRequest } from '../../../libs/broker/src/wire/index.js';
import {
  ClassicMembership,
  GroupCoordinator,
  groupChannel,
  joinChannel,
  OffsetCommitter,
  type MembershipListener,
} from '../../../libs/broker/src/client/group/index.js';
import {
  ConnectionError,
  FencedError,
  InconsistentGroupProtocolError,
  type AssignorName,
  type SessionStatus,
  type TopicPartition,
} from '@nest-event-bus/broker';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { describeWithKafka, type SharedKafka } from '../support/index.js';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

interface MemberSettings {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly assignors?: readonly AssignorName[];
  readonly sessionTimeoutMs?: number;
  readonly rebalanceTimeoutMs?: number;
  readonly on?: Partial<MembershipListener>;
}

let sessions = 0;

/** A member with its own connections, so that a test can disconnect it alone. */
class TestMember {
  readonly events: string[] = [];
  readonly statuses: SessionStatus[] = [];
  readonly membership: ClassicMembership;
  readonly committer: OffsetCommitter;
  readonly cluster: Cluster;
  readonly sessionId = `test-${++sessions}`;
  owned: readonly TopicPartition[] = [];

  constructor(brokers: readonly string[], settings: MemberSettings) {
    const { groupId, topics, on = {} } = settings;
    this.cluster = connect(brokers);
    const coordinator = new GroupCoordinator({
      cluster: this.cluster,
      groupId,
      sessionId: this.sessionId,
    });
    const sessionTimeoutMs = settings.sessionTimeoutMs ?? 3_000;
    this.membership = new ClassicMembership({
      cluster: this.cluster,
      coordinator,
      sessionId: this.sessionId,
      groupId,
      groupInstanceId: null,
      topics,
      assignors: settings.assignors ?? ['sticky', 'range'],
      sessionTimeoutMs,
      heartbeatIntervalMs: Math.min(500, Math.floor(sessionTimeoutMs / 4)),
      rebalanceTimeoutMs: settings.rebalanceTimeoutMs ?? 15_000,
      logger: silent,
      listener: {
        onAssigned: async (partitions, generation) => {
          this.owned = partitions;
          this.events.push(`assigned ${partitions.length}`);
          await on.onAssigned?.(partitions, generation);
        },
        onRevoked: async (partitions) => {
          this.events.push(`revoked ${partitions.length}`);
          await on.onRevoked?.(partitions);
          this.owned = [];
        },
        onLost: async (partitions) => {
          this.events.push(`lost ${partitions.length}`);
          this.owned = [];
        },
        onStatus: (status) => this.statuses.push(status),
      },
    });
    this.committer = new OffsetCommitter({
      coordinator,
      membership: () => this.membership,
      ownedPartitions: { get: () => true },
    });
    this.membership.start();
  }

  get state(): string {
    return this.statuses.at(-1)?.state ?? 'idle';
  }

  get names(): string[] {
    return this.owned.map(({ topic, partition }) => `${topic}/${partition}`).sort();
  }

  /**
   * Freezes the member, as if its process was suspended: no request reaches the broker, and the
   * member does not notice it.
   */
  freeze(): () => void {
    const request = this.cluster.request.bind(this.cluster);
    const gone = new ConnectionError('The process hangs.');
    this.cluster.request = () => Promise.reject(gone);
    for (const lane of [joinChannel(this.sessionId), groupChannel(this.sessionId)])
      this.cluster.closeChannel(lane, gone);
    return () => {
      this.cluster.request = request;
    };
  }

  async close(): Promise<void> {
    await this.membership.close();
    this.cluster.close();
  }
}

function connect(brokers: readonly string[]): Cluster {
  return new Cluster({
    brokers,
    clientId: 'membership-spec',
    connectionTimeoutMs: 2_000,
    requestTimeoutMs: 10_000,
    runtime: realRuntime,
  });
}

async function createTopic(kafka: SharedKafka, partitions: number, topic = kafka.unique('shared')) {
  const cluster = connect(kafka.brokers);
  const create = kafkajsRequest('CreateTopics', {
    topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }],
    timeout: 5_000,
  });
  await cluster.request('controller', 'control', create);
  await eventually(async () => {
    await cluster.metadata.refresh([topic]);
    return cluster.metadata.topic(topic)?.partitions.every(({ leader }) => leader >= 0);
  });
  cluster.close();
  return topic;
}

const waitForOwners = (members: readonly TestMember[], topic: string, partitions: number) =>
  eventually(
    () => {
      const expected = Array.from({ length: partitions }, (_, index) => `${topic}/${index}`);
      expect(members.flatMap(({ names }) => names).sort()).toEqual(expected.sort());
      expect(members.map(({ state }) => state)).toEqual(members.map(() => 'stable'));
      return true;
    },
    { description: 'every partition to have one owner', timeoutMs: 60_000 },
  );

describeWithKafka('ClassicMembership in an eager group, on a real broker', (kafka) => {
  const members: TestMember[] = [];
  const join = (settings: MemberSettings): TestMember => {
    const member = new TestMember(kafka.brokers, settings);
    members.push(member);
    return member;
  };

  afterEach(async () => {
    await Promise.all(members.splice(0).map((member) => member.close()));
  });

  it.each(['range', 'sticky'] as const)(
    'shares partitions between two members by %s, and gives all to the remaining one when the other leaves',
    async (assignor) => {
      const topic = await createTopic(kafka, 4);
      const settings = {
        groupId: kafka.unique('group'),
        topics: [topic],
        assignors: [assignor],
        sessionTimeoutMs: 30_000,
      };
      const first = join(settings);
      await waitForOwners([first], topic, 4);
      const second = join(settings);
      await waitForOwners([first, second], topic, 4);
      expect([first.names.length, second.names.length]).toEqual([2, 2]);
      const started = realRuntime.monotonic();
      await first.close();
      await waitForOwners([second], topic, 4);
      expect(realRuntime.monotonic() - started).toBeLessThan(25_000);
      expect(first.events).toEqual(['assigned 4', 'revoked 4', 'assigned 2', 'revoked 2']);
    },
    180_000,
  );

  it('stays in the group during a revocation that is longer than the session timeout, and commits in it', async () => {
    const topic = await createTopic(kafka, 2);
    const groupId = kafka.unique('group');
    let commits = 0;
    const settings = { groupId, topics: [topic], rebalanceTimeoutMs: 60_000 };
    const slow: TestMember = join({
      ...settings,
      on: {
        onRevoked: async (partitions) => {
          if (commits > 0) return;
          await sleep(realRuntime, 5_000);
          await slow.committer.commit(partitions.map((each) => ({ ...each, offset: 7 })));
          commits++;
        },
      },
    });
    await waitForOwners([slow], topic, 2);
    const { memberId } = slow.membership.member.snapshot;
    const other = join(settings);
    await waitForOwners([slow, other], topic, 2);
    expect(commits).toBe(1);
    expect(slow.membership.member.snapshot.memberId).toBe(memberId);
    expect(slow.events).not.toContain('lost 2');
    const stored = await other.committer.fetch([0, 1].map((partition) => ({ topic, partition })));
    expect(stored.map(({ committed }) => committed?.offset)).toEqual([7, 7]);
  }, 180_000);

  it('loses the partitions if the process was frozen, reports the loss, and joins as a new member', async () => {
    const topic = await createTopic(kafka, 2);
    const settings = { groupId: kafka.unique('group'), topics: [topic] };
    const [frozen, survivor] = [join(settings), join(settings)];
    await waitForOwners([frozen, survivor], topic, 2);
    const { snapshot } = frozen.membership.member;
    const thaw = frozen.freeze();
    await waitForOwners([survivor], topic, 2);
    await eventually(() => frozen.events.at(-1) === 'lost 1');
    const late = frozen.committer.commit([{ topic, partition: 0, offset: 99 }]);
    await expect(late).rejects.toThrow(FencedError);
    thaw();
    await waitForOwners([frozen, survivor], topic, 2);
    expect(frozen.membership.member.snapshot.memberId).not.toBe(snapshot.memberId);
  }, 180_000);

  it('leaves the group when it closes during a pending join, so that the others do not wait for it', async () => {
    const topic = await createTopic(kafka, 2);
    const settings = { groupId: kafka.unique('group'), topics: [topic], sessionTimeoutMs: 30_000 };
    const release = { now: () => undefined as void };
    const gate = new Promise<void>((resolve) => (release.now = resolve));
    const first = join({ ...settings, on: { onRevoked: () => gate } });
    await waitForOwners([first], topic, 2);
    const second = join(settings);
    await eventually(() => first.events.includes('revoked 2'));
    const before = realRuntime.monotonic();
    await second.close();
    release.now();
    await waitForOwners([first], topic, 2);
    expect(realRuntime.monotonic() - before).toBeLessThan(25_000);
  }, 180_000);

  it('reports that it has no common assignor with the group, and does not disturb the other members', async () => {
    const topic = await createTopic(kafka, 2);
    const settings = { groupId: kafka.unique('group'), topics: [topic] };
    const first = join({ ...settings, assignors: ['sticky'] });
    await waitForOwners([first], topic, 2);
    const second = join({ ...settings, assignors: ['range'] });
    await eventually(() => second.state === 'retrying');
    const status = second.statuses.at(-1);
    expect(status).toMatchObject({ error: expect.any(InconsistentGroupProtocolError) as unknown });
    expect(first.names).toHaveLength(2);
  });

  it('assigns the partitions of a topic that is created later', async () => {
    const [present, later] = [await createTopic(kafka, 1), kafka.unique('later')];
    const member = join({ groupId: kafka.unique('group'), topics: [present, later] });
    await waitForOwners([member], present, 1);
    await createTopic(kafka, 2, later);
    await eventually(() => member.names.length === 3, { timeoutMs: 60_000 });
  }, 180_000);

  it('stores fifty concurrent commits in order', async () => {
    const topic = await createTopic(kafka, 1);
    const member = join({ groupId: kafka.unique('group'), topics: [topic] });
    await waitForOwners([member], topic, 1);
    const offsets = Array.from({ length: 50 }, (_, offset) => offset);
    await Promise.all(
      offsets.map((offset) => member.committer.commit([{ topic, partition: 0, offset }])),
    );
    const [stored] = await member.committer.fetch([{ topic, partition: 0 }]);
    expect(stored?.committed?.offset).toBe(49);
  });
});
