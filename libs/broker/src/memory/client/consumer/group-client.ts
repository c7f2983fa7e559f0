import type { TopicDescription } from '../../../port/admin.js';
import type { OffsetCommit } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-consumer-options.js';
import {
  assignorNamed,
  encodePlan,
  memberProtocols,
  readGroupMembers,
  subscribedTopics,
  type PreviousAssignment,
} from '../../../assignment/index.js';
import type {
  MemberIdentity,
  OffsetResult,
  RefusedPartition,
} from '../../broker/groups/coordinator.js';
import type { ConsumerHeartbeatResponse } from '../../broker/groups/consumer-member.js';
import type { JoinResponse } from '../../broker/groups/classic-member.js';
import type { Connection, RequestLimits } from '../connection.js';

/** The identity of the member in every request. */
export interface Identity {
  readonly memberId: string;
  readonly generation: number;
}

/** The assignment state that a member sends when it joins. */
export interface JoinClaim {
  readonly previous: PreviousAssignment | null;
  /** Partitions that the member keeps reading while it joins. */
  readonly held: PreviousAssignment | null;
}

export interface LeaderPlan {
  readonly shares: ReadonlyMap<string, Buffer>;
  /** The metadata on which the plan is based; undefined for a member that is not the leader. */
  readonly basis?: {
    /** The topics with a subscriber, existing or not. */
    readonly topics: readonly string[];
    readonly partitionsOf: ReadonlyMap<string, number>;
  };
}

const PROTOCOL_TYPE = 'consumer';
const NO_PLAN: LeaderPlan = { shares: new Map() };

/** The requests of one member to its group, in the formats of real clients. */
export class GroupClient {
  constructor(
    private readonly connection: Connection,
    private readonly options: ResolvedConsumerOptions,
  ) {}

  join(memberId: string, claim: JoinClaim, signal: AbortSignal): Promise<JoinResponse> {
    const { groupId, groupInstanceId, assignors, topics, sessionTimeoutMs, rebalanceTimeoutMs } =
      this.options;
    const request = {
      groupId,
      memberId,
      groupInstanceId,
      clientId: this.options.clientId ?? this.connection.clientId,
      sessionTimeoutMs,
      rebalanceTimeoutMs,
      protocolType: PROTOCOL_TYPE,
      protocols: memberProtocols({ assignors, topics, ...claim }),
    };
    return this.connection.call(
      { operation: 'join', groupId, memberId },
      () => this.connection.cluster.groups.join(request),
      // JoinGroup is answered when all members have joined, which may take the whole rebalance
      // timeout.
      { timeoutMs: rebalanceTimeoutMs + 5_000, signal },
    );
  }

  /**
   * Returns the plan if this member is the leader. Other members get their partitions from the
   * leader's plan by SyncGroup.
   */
  async plan(answer: JoinResponse, signal: AbortSignal): Promise<LeaderPlan> {
    if (answer.leaderId !== answer.memberId) return NO_PLAN;
    const { members } = readGroupMembers(answer.members);
    const topics = subscribedTopics(members);
    const partitionsOf = partitionCounts(await this.connection.metadata(topics, { signal }));
    const plan = assignorNamed(answer.protocol).assign({ members, partitionsOf });
    return { shares: encodePlan(plan), basis: { topics, partitionsOf } };
  }

  sync(
    identity: Identity,
    shares: ReadonlyMap<string, Buffer>,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const member = this.#member(identity);
    return this.connection.call(
      { operation: 'sync', groupId: member.groupId, memberId: member.memberId },
      () => this.connection.cluster.groups.sync(member, shares),
      { timeoutMs: this.options.rebalanceTimeoutMs + 5_000, signal },
    );
  }

  heartbeat(identity: Identity, call: RequestLimits): Promise<void> {
    const { groupId } = this.options;
    return this.connection.call(
      { operation: 'heartbeat', groupId, memberId: identity.memberId },
      () => this.connection.cluster.groups.heartbeat(this.#member(identity)),
      call,
    );
  }

  /** Sends a heartbeat of the consumer protocol (KIP-848). The first heartbeat joins the group. */
  consumerHeartbeat(
    identity: Identity,
    owned: readonly TopicPartition[],
    call: RequestLimits,
  ): Promise<ConsumerHeartbeatResponse> {
    const { groupId, groupInstanceId, topics, rebalanceTimeoutMs } = this.options;
    const { memberId, generation } = identity;
    const epoch = Math.max(generation, 0);
    const clientId = this.options.clientId ?? this.connection.clientId;
    const member = { groupId, memberId, groupInstanceId, clientId, topics, rebalanceTimeoutMs };
    return this.connection.call(
      { operation: epoch === 0 ? 'join' : 'heartbeat', groupId, memberId },
      () => this.connection.cluster.groups.consumerHeartbeat({ ...member, epoch, owned }),
      call,
    );
  }

  leave(memberId: string, timeoutMs: number): Promise<void> {
    const { groupId } = this.options;
    return this.connection.call(
      { operation: 'leave', groupId, memberId },
      () => this.connection.cluster.groups.leave(groupId, memberId),
      { timeoutMs },
    );
  }

  commit(
    identity: Identity,
    offsets: readonly OffsetCommit[],
    signal: AbortSignal,
  ): Promise<readonly RefusedPartition[]> {
    const { groupId } = this.options;
    const { cluster, clientId } = this.connection;
    const { memberId } = identity;
    const scope = { operation: 'commit', groupId, memberId, partitions: offsets } as const;
    return this.connection.call(
      scope,
      () =>
        cluster.groups.commit(this.#member(identity), offsets, (partition) =>
          cluster.faults.refusalOf({ ...scope, clientId }, partition),
        ),
      { signal },
    );
  }

  committed(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
  ): Promise<readonly OffsetResult[]> {
    const { groupId } = this.options;
    return this.connection.call(
      { operation: 'fetch-offsets', groupId, partitions },
      () => this.connection.cluster.groups.committed(groupId, partitions),
      { signal },
    );
  }

  #member(identity: Identity): MemberIdentity {
    const { groupId, groupInstanceId } = this.options;
    return { groupId, groupInstanceId, ...identity };
  }
}

export function partitionCounts(topics: readonly TopicDescription[]): Map<string, number> {
  return new Map(topics.map(({ name, partitions }) => [name, partitions.length]));
}
