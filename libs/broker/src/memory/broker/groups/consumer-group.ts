import {
  assignorNamed,
  encodeAssignment,
  NO_GENERATION,
  type AssignorMember,
  type AssignmentPlan,
} from '../../../assignment/index.js';
import type { TopicPartition } from '../../../port/record.js';
import { partitionKey } from '../../../port/topic-partition.js';
import type { Runtime } from '../../../runtime/index.js';
import {
  ConsumerMember,
  type ConsumerHeartbeatResponse,
  type ConsumerHeartbeatRequest,
} from './consumer-member.js';
import { instanceFenced, StaticMembers } from './static-members.js';
import type { GroupIdentity } from './classic-group.js';
import { isRefusal, Refusal } from '../faults/refusal.js';
import type { Topics } from '../log/topics.js';

export interface ConsumerGroupOptions {
  readonly consumerSessionTimeoutMs: number;
  readonly consumerHeartbeatIntervalMs: number;
}

const assignor = assignorNamed('sticky');

/**
 * A group of the consumer protocol (KIP-848), in which the broker assigns the partitions. Each
 * change starts a new epoch with a new plan. Each member follows the plan on its own: first it
 * releases the partitions that the plan takes away, then it gets those that other members have
 * released.
 */
export class ConsumerGroup {
  epoch = 0;
  readonly members = new Map<string, ConsumerMember>();
  readonly #staticMembers: StaticMembers;
  #plan: AssignmentPlan = new Map();
  #partitionCounts = new Map<string, number>();

  constructor(
    private readonly id: string,
    private readonly topics: Topics,
    private readonly runtime: Runtime,
    private readonly options: ConsumerGroupOptions,
    private readonly onEmpty: () => void,
  ) {
    this.#staticMembers = new StaticMembers(id);
  }

  heartbeat(request: ConsumerHeartbeatRequest): ConsumerHeartbeatResponse {
    const member = request.epoch === 0 ? this.#join(request) : this.#requireCurrent(request);
    member.extendSession(this.options.consumerSessionTimeoutMs);
    if (this.#refreshPartitionCounts()) this.#recomputePlan();
    return this.#reconcile(member, new Set(request.owned.map(partitionKey)));
  }

  /** Removes a member. A static member keeps its partitions until its session timeout. */
  leave(memberId: string): void {
    const member = this.#requireMember(memberId);
    if (member.instanceId === null) this.#remove(member);
    else member.hasLeft = true;
  }

  expel(memberId: string): void {
    this.#remove(this.#requireMember(memberId));
  }

  checkCommit({ memberId, generation, groupInstanceId = null }: GroupIdentity): void {
    this.#staticMembers.check(groupInstanceId, memberId);
    const { epoch } = this.#requireMember(memberId);
    if (generation !== epoch)
      throw new Refusal(
        'STALE_MEMBER_EPOCH',
        `epoch ${generation} is not that of member "${memberId}", which is at ${epoch}`,
      );
  }

  /**
   * Checks a transactional commit. Its request type is older than member epochs, so the error code
   * names the generation.
   */
  checkTransactionalCommit(identity: GroupIdentity): void {
    if (identity.generation < 0 && identity.memberId === '') return;
    try {
      this.checkCommit(identity);
    } catch (error) {
      if (isRefusal(error, 'STALE_MEMBER_EPOCH'))
        throw new Refusal('ILLEGAL_GENERATION', error.message);
      throw error;
    }
  }

  describe() {
    const members = [...this.members.values()];
    const isAtRest = members.every(({ epoch }) => epoch === this.epoch);
    return {
      state: isAtRest ? ('Stable' as const) : ('Reconciling' as const),
      protocol: 'uniform',
      members: members.map(({ id, clientId, host, held }) => ({
        memberId: id,
        clientId,
        host,
        assignment: encodeAssignment(held),
      })),
    };
  }

  isSubscribedTo(topic: string): boolean {
    return [...this.members.values()].some(({ request }) => request.topics.includes(topic));
  }

  #join(request: ConsumerHeartbeatRequest): ConsumerMember {
    const { memberId, groupInstanceId } = request;
    const known = this.members.get(memberId);
    // A join without a response is repeated. Later, Kafka 4.1 refuses epoch 0 under a known id.
    if (known && groupInstanceId === null) return this.#requireCurrent(request);
    const holder = this.members.get(this.#staticMembers.memberIdOf(groupInstanceId) ?? '');
    if (holder && !holder.hasLeft)
      throw new Refusal(
        'UNRELEASED_INSTANCE_ID',
        `another session has the group instance id "${groupInstanceId}" and is still active`,
      );
    const member = new ConsumerMember(request, this.runtime, (each) => this.#remove(each));
    this.members.set(memberId, member);
    this.#staticMembers.register(groupInstanceId, memberId);
    if (holder) this.#replaceStaticMember(holder, member);
    else this.#recomputePlan();
    return member;
  }

  #replaceStaticMember(holder: ConsumerMember, successor: ConsumerMember): void {
    successor.held = holder.held;
    this.#plan = new Map([...this.#plan, [successor.id, this.#plan.get(holder.id) ?? []]]);
    holder.cancelTimers();
    this.members.delete(holder.id);
  }

  #requireCurrent({ memberId, groupInstanceId, epoch }: ConsumerHeartbeatRequest): ConsumerMember {
    const member = this.#requireMember(memberId);
    const holder = this.#staticMembers.memberIdOf(groupInstanceId);
    if (holder !== undefined && holder !== memberId) throw instanceFenced(groupInstanceId ?? '');
    if (epoch !== member.epoch && epoch !== member.previousEpoch)
      throw new Refusal(
        'FENCED_MEMBER_EPOCH',
        `epoch ${epoch} is not that of member "${memberId}", which is at ${member.epoch}`,
      );
    return member;
  }

  #reconcile(member: ConsumerMember, owned: ReadonlySet<string>): ConsumerHeartbeatResponse {
    const planned = this.#plan.get(member.id) ?? [];
    const wanted = new Set(planned.map(partitionKey));
    const kept = member.held.filter((each) => wanted.has(partitionKey(each)));
    const leaving = member.held.filter(
      (each) => !wanted.has(partitionKey(each)) && owned.has(partitionKey(each)),
    );
    member.setRevocationPending(leaving.length > 0);
    if (leaving.length > 0) {
      member.held = [...kept, ...leaving];
      return this.#response(member, kept);
    }
    const taken = this.#heldByOthers(member);
    member.held = planned.filter((each) => !taken.has(partitionKey(each)));
    member.advanceTo(this.epoch);
    return this.#response(member, member.held);
  }

  #response(
    { epoch }: ConsumerMember,
    assignment: readonly TopicPartition[],
  ): ConsumerHeartbeatResponse {
    return { epoch, intervalMs: this.options.consumerHeartbeatIntervalMs, assignment };
  }

  #heldByOthers(member: ConsumerMember): ReadonlySet<string> {
    const others = [...this.members.values()].filter((each) => each !== member);
    return new Set(others.flatMap(({ held }) => held.map(partitionKey)));
  }

  #remove(member: ConsumerMember): void {
    member.cancelTimers();
    this.members.delete(member.id);
    this.#staticMembers.unregister(member.instanceId, member.id);
    this.#recomputePlan();
    if (this.members.size === 0) this.onEmpty();
  }

  #recomputePlan(): void {
    this.epoch += 1;
    this.#refreshPartitionCounts();
    const members = [...this.members.values()].map((each) => this.#toAssignorMember(each));
    this.#plan = assignor.assign({ members, partitionsOf: this.#partitionCounts });
  }

  #toAssignorMember({ id, instanceId, request }: ConsumerMember): AssignorMember {
    const partitions = this.#plan.get(id) ?? [];
    return {
      memberId: id,
      instanceId,
      topics: request.topics,
      userData: assignor.userData({ partitions, generation: this.epoch }),
      owned: [],
      generation: NO_GENERATION,
      rack: null,
    };
  }

  #refreshPartitionCounts(): boolean {
    const names = new Set([...this.members.values()].flatMap(({ request }) => request.topics));
    const counts = new Map(
      [...names].flatMap((name) => {
        const topic = this.topics.find(name);
        return topic ? [[name, topic.partitions.length] as const] : [];
      }),
    );
    const before = this.#partitionCounts;
    this.#partitionCounts = counts;
    return (
      before.size !== counts.size || [...counts].some(([name, count]) => before.get(name) !== count)
    );
  }

  #requireMember(memberId: string): ConsumerMember {
    const member = this.members.get(memberId);
    if (!member)
      throw new Refusal('UNKNOWN_MEMBER_ID', `group "${this.id}" has no member "${memberId}"`);
    return member;
  }
}
