import type { SessionStatus } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import { VirtualRuntime } from '../../../runtime/index.js';
import { ConsumerMembership, type ConsumerMembershipOptions } from './consumer-membership.js';
import { GroupCoordinator } from '../group-coordinator.js';
import { coordinatedBy, REBALANCE_MS, silentLogger } from '../member-under-test.spec-support.js';
import type { MembershipListener } from '../membership.js';
import { ScriptedCluster } from '../scripted-cluster.spec-support.js';

export const ORDERS_ID = 'a1'.repeat(16);
export const INTERVAL_MS = 3_000;
export const BROKER_SESSION_MS = 9_000;

/** Creates the response to a heartbeat: the epoch, and the assigned partitions of `orders`. */
export const heartbeatAnswer = (
  epoch: number,
  partitions: readonly number[],
  topicId = ORDERS_ID,
) => ({
  errorCode: 0,
  message: null,
  epoch,
  intervalMs: INTERVAL_MS,
  assignment: partitions.length === 0 ? [] : [{ topicId, partitions }],
});

export const refusedHeartbeat = (errorCode: number) => ({
  errorCode,
  message: null,
  epoch: 0,
  intervalMs: 0,
  assignment: null,
});

const HEARTBEAT = 'ConsumerGroupHeartbeat';

/**
 * A member of the consumer protocol (KIP-848) in virtual time, with a scripted cluster. Records the
 * calls of its listener.
 */
export class ConsumerMemberUnderTest {
  readonly runtime = new VirtualRuntime();
  readonly cluster = new ScriptedCluster(this.runtime);
  readonly coordinator: GroupCoordinator;
  readonly membership: ConsumerMembership;
  readonly calls: string[] = [];
  readonly statuses: SessionStatus[] = [];
  readonly unsupported: Error[] = [];
  listener: Partial<MembershipListener> = {};

  constructor(options: Partial<ConsumerMembershipOptions> = {}) {
    const { cluster } = this;
    cluster.topics.set('orders', 4);
    cluster.topicIds.set('orders', ORDERS_ID);
    cluster.always('GroupCoordinator', coordinatedBy(1)).always('DescribeConfigs', [
      {
        code: 0,
        message: null,
        name: 'group',
        entries: [['consumer.session.timeout.ms', String(BROKER_SESSION_MS)]],
      },
    ]);
    this.coordinator = new GroupCoordinator({ cluster, groupId: 'group', sessionId: 's1' });
    this.membership = new ConsumerMembership({
      cluster,
      coordinator: this.coordinator,
      groupId: 'group',
      groupInstanceId: null,
      topics: ['orders'],
      assignors: ['range'],
      sessionTimeoutMs: 1,
      rebalanceTimeoutMs: REBALANCE_MS,
      logger: silentLogger,
      onUnsupported: (error) => void this.unsupported.push(error),
      listener: this.#recordingListener(),
      ...options,
    });
  }

  /** Starts the member and answers all heartbeats with this response. */
  async start(answer: object = heartbeatAnswer(1, [0, 1])): Promise<this> {
    this.answer(answer);
    this.membership.start();
    await this.runtime.settle();
    return this;
  }

  answer(answer: object): this {
    this.cluster.always(HEARTBEAT, answer);
    return this;
  }

  once(...answers: object[]): this {
    this.cluster.once(HEARTBEAT, ...answers);
    return this;
  }

  get heartbeats() {
    return this.cluster.requests(HEARTBEAT);
  }

  /** The content of the last heartbeat: its epoch and partitions. */
  get lastHeartbeat(): string {
    const { generation, owned } = this.heartbeats.at(-1) ?? {};
    return `${generation}: ${(owned ?? []).map((each) => each.split('/')[1]).join(' ')}`;
  }

  get states(): string[] {
    return this.statuses.map(({ state }) => state);
  }

  async close(): Promise<void> {
    this.answer(heartbeatAnswer(1, []));
    const closing = this.membership.close();
    await this.runtime.advance(REBALANCE_MS);
    await closing;
    this.cluster.verify();
    expect(this.runtime.pendingTimers).toBe(0);
  }

  #recordingListener(): MembershipListener {
    const record = (what: string, partitions: readonly TopicPartition[]): void => {
      this.calls.push([what, ...partitions.map(({ partition }) => partition)].join(' '));
    };
    return {
      onAssigned: async (partitions, generation) => {
        record('assigned', partitions);
        await this.listener.onAssigned?.(partitions, generation);
      },
      onRevoked: async (partitions) => {
        record('revoked', partitions);
        await this.listener.onRevoked?.(partitions);
      },
      onLost: async (partitions) => {
        record('lost', partitions);
        await this.listener.onLost?.(partitions);
      },
      onStatus: (status) => void this.statuses.push(status),
    };
  }
}
