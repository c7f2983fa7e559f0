import { encodeAssignment, encodeSubscription, NO_GENERATION } from '../../assignment/index.js';
import type { AssignorName, SessionStatus } from '../../port/consumer.js';
import { ConnectionError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import { VirtualRuntime } from '../../runtime/index.js';
import { ClassicMembership, type ClassicMembershipOptions } from './classic/classic-membership.js';
import { GroupCoordinator } from './group-coordinator.js';
import type { MembershipListener } from './membership.js';
import { OffsetCommitter } from './commits/offset-committer.js';
import { ScriptedCluster, type SentRequest } from './scripted-cluster.spec-support.js';

export const unreachable = new ConnectionError('No broker could be reached.');

export const silentLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export const code = (errorCode: number) => ({ errorCode, members: [] });

export const coordinatedBy = (nodeId: number) => ({
  errorCode: 0,
  coordinator: { nodeId, host: 'broker', port: 9092 },
});

export const joinedAs = (
  memberId: string,
  generationId: number,
  groupProtocol: AssignorName = 'range',
) => ({
  errorCode: 0,
  generationId,
  groupProtocol,
  leaderId: 'somebody-else',
  memberId,
  members: [],
});

export const refusedJoin = (errorCode: number, memberId = '') => ({
  ...joinedAs(memberId, -1),
  errorCode,
});

/** Answers each partition of the commit with this code. */
export const commitAnsweredWith =
  (errorCode: number) =>
  ({ commits }: SentRequest) =>
    commits.map(({ topic, partition }) => ({ topic, partition, code: errorCode }));

export const leadingAs = (
  memberId: string,
  generationId: number,
  topicsOf: Readonly<Record<string, readonly string[]>>,
) => ({
  ...joinedAs(memberId, generationId),
  leaderId: memberId,
  members: Object.entries(topicsOf).map(([id, topics]) => ({
    memberId: id,
    groupInstanceId: null,
    memberMetadata: encodeSubscription({
      topics,
      userData: null,
      owned: [],
      generation: NO_GENERATION,
      rack: null,
    }),
  })),
});

export const orders = (...partitions: number[]): TopicPartition[] =>
  partitions.map((partition) => ({ topic: 'orders', partition }));

export const synced = (...partitions: number[]) => ({
  errorCode: 0,
  memberAssignment: encodeAssignment(orders(...partitions)),
});

export const SESSION_MS = 9_000;
export const HEARTBEAT_MS = 3_000;
export const REBALANCE_MS = 30_000;

/** A member in virtual time, with a scripted cluster. Records the calls of its listener. */
export class MemberUnderTest {
  readonly runtime = new VirtualRuntime();
  readonly cluster = new ScriptedCluster(this.runtime);
  readonly coordinator: GroupCoordinator;
  readonly membership: ClassicMembership;
  readonly calls: string[] = [];
  readonly statuses: SessionStatus[] = [];
  listener: Partial<MembershipListener> = {};

  constructor(options: Partial<ClassicMembershipOptions> = {}) {
    const { cluster } = this;
    this.coordinator = new GroupCoordinator({ cluster, groupId: 'group', sessionId: 's1' });
    cluster.always('GroupCoordinator', coordinatedBy(1)).always('Heartbeat', code(0));
    this.membership = new ClassicMembership({
      cluster,
      coordinator: this.coordinator,
      sessionId: 's1',
      groupId: 'group',
      groupInstanceId: null,
      topics: ['orders'],
      assignors: ['range'],
      sessionTimeoutMs: SESSION_MS,
      heartbeatIntervalMs: HEARTBEAT_MS,
      rebalanceTimeoutMs: REBALANCE_MS,
      logger: silentLogger,
      listener: this.#recordingListener(),
      ...options,
    });
  }

  /**
   * Joins as `me` in generation 1 with orders/0 and orders/1. The coordinator assigns the member
   * id.
   */
  async join(): Promise<this> {
    this.cluster
      .once('JoinGroup', refusedJoin(79, 'me'), joinedAs('me', 1))
      .once('SyncGroup', synced(0, 1))
      .always('LeaveGroup', code(0));
    this.membership.start();
    await this.runtime.settle();
    expect(this.states.at(-1)).toBe('stable');
    return this;
  }

  /** Starts a rebalance by the response to the next heartbeat. */
  async rebalance(): Promise<void> {
    this.cluster.once('Heartbeat', code(27));
    await this.runtime.advance(HEARTBEAT_MS);
  }

  newCommitter(): OffsetCommitter {
    return new OffsetCommitter({
      coordinator: this.coordinator,
      membership: () => this.membership,
      ownedPartitions: { get: () => true },
    });
  }

  get states(): string[] {
    return this.statuses.map(({ state }) => state);
  }

  get errors(): string[] {
    return this.statuses.flatMap((status) => ('error' in status ? [status.error.name] : []));
  }

  /** Member ids of the JoinGroup requests, in order. */
  get joins(): string[] {
    return this.cluster.requests('JoinGroup').map(({ memberId }) => memberId);
  }

  async close(): Promise<void> {
    this.cluster.always('LeaveGroup', code(0)).always('Heartbeat', code(0));
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
      onStatus: (status) => {
        this.statuses.push(status);
        this.listener.onStatus?.(status);
      },
    };
  }
}
