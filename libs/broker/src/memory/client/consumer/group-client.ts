import type { TopicDescription } from '../../../port/admin.js';
import type { OffsetCommit } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-options.js';
import {
  assignorNamed,
  encodePlan,
  memberProtocols,
  readGroupMembers,
  subscribedTopics,
  type PreviousAssignment,
} from '../../../assignment/index.js';
import type { MemberIdentity, OffsetAnswer, RefusedPartition } from '../../broker/coordinator.js';
import type { BeatAnswer } from '../../broker/consumer-member.js';
import type { JoinAnswer } from '../../broker/group-member.js';
import type { Link, LinkCall } from '../link.js';

/** Who we are to the group, as every request has to say. */
export interface Identity {
  readonly memberId: string;
  readonly generation: number;
}

/** What a member says of itself when it joins. */
export interface Claim {
  readonly previous: PreviousAssignment | null;
  /** What it goes on working on meanwhile. */
  readonly held: PreviousAssignment | null;
}

export interface LeaderPlan {
  readonly shares: ReadonlyMap<string, Buffer>;
  /** What the plan was made from. A member that leads nobody has none. */
  readonly basis?: {
    /** Those that some member subscribes to, existing or not. */
    readonly topics: readonly string[];
    readonly partitionsOf: ReadonlyMap<string, number>;
  };
}

const PROTOCOL_TYPE = 'consumer';
const NOTHING_PLANNED: LeaderPlan = { shares: new Map() };

/** The requests of one member to its group, in the formats that real clients use. */
export class GroupClient {
  constructor(
    private readonly link: Link,
    private readonly options: ResolvedConsumerOptions,
  ) {}

  join(memberId: string, claim: Claim, signal: AbortSignal): Promise<JoinAnswer> {
    const { groupId, groupInstanceId, assignors, topics, sessionTimeoutMs, rebalanceTimeoutMs } =
      this.options;
    const request = {
      groupId,
      memberId,
      groupInstanceId,
      clientId: this.link.clientId,
      sessionTimeoutMs,
      rebalanceTimeoutMs,
      protocolType: PROTOCOL_TYPE,
      protocols: memberProtocols({ assignors, topics, ...claim }),
    };
    return this.link.call(
      { operation: 'join', groupId, memberId },
      () => this.link.cluster.groups.join(request),
      // The answer comes when all have joined, which takes up to the rebalance time-out.
      { timeoutMs: rebalanceTimeoutMs + 5_000, signal },
    );
  }

  /** Who leads makes the plan for all; the others get theirs from it. */
  async plan(answer: JoinAnswer, signal: AbortSignal): Promise<LeaderPlan> {
    if (answer.leaderId !== answer.memberId) return NOTHING_PLANNED;
    const { members } = readGroupMembers(answer.members);
    const topics = subscribedTopics(members);
    const partitionsOf = partitionCounts(await this.link.metadata(topics, { signal }));
    const plan = assignorNamed(answer.protocol).assign({ members, partitionsOf });
    return { shares: encodePlan(plan), basis: { topics, partitionsOf } };
  }

  sync(
    identity: Identity,
    shares: ReadonlyMap<string, Buffer>,
    signal: AbortSignal,
  ): Promise<Buffer> {
    const member = this.#member(identity);
    return this.link.call(
      { operation: 'sync', groupId: member.groupId, memberId: member.memberId },
      () => this.link.cluster.groups.sync(member, shares),
      { timeoutMs: this.options.rebalanceTimeoutMs + 5_000, signal },
    );
  }

  heartbeat(identity: Identity, call: LinkCall): Promise<void> {
    const { groupId } = this.options;
    return this.link.call(
      { operation: 'heartbeat', groupId, memberId: identity.memberId },
      () => this.link.cluster.groups.heartbeat(this.#member(identity)),
      call,
    );
  }

  /** What a member by KIP-848 says and is told; the first one joins. */
  beat(identity: Identity, owned: readonly TopicPartition[], call: LinkCall): Promise<BeatAnswer> {
    const { groupId, groupInstanceId, topics, rebalanceTimeoutMs } = this.options;
    const { memberId, generation } = identity;
    const epoch = Math.max(generation, 0);
    const { clientId } = this.link;
    const said = { groupId, memberId, groupInstanceId, clientId, topics, rebalanceTimeoutMs };
    return this.link.call(
      { operation: epoch === 0 ? 'join' : 'heartbeat', groupId, memberId },
      () => this.link.cluster.groups.beat({ ...said, epoch, owned }),
      call,
    );
  }

  leave(memberId: string, timeoutMs: number): Promise<void> {
    const { groupId } = this.options;
    return this.link.call(
      { operation: 'leave', groupId, memberId },
      () => this.link.cluster.groups.leave(groupId, memberId),
      { timeoutMs },
    );
  }

  commit(
    identity: Identity,
    offsets: readonly OffsetCommit[],
    signal: AbortSignal,
  ): Promise<readonly RefusedPartition[]> {
    const { groupId } = this.options;
    const { cluster, clientId } = this.link;
    const { memberId } = identity;
    const scope = { operation: 'commit', groupId, memberId, partitions: offsets } as const;
    return this.link.call(
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
  ): Promise<readonly OffsetAnswer[]> {
    const { groupId } = this.options;
    return this.link.call(
      { operation: 'fetch-offsets', groupId, partitions },
      () => this.link.cluster.groups.committed(groupId, partitions),
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
