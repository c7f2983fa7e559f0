import {
  assignorNamed,
  encodeAssignment,
  NO_GENERATION,
  type AssignorMember,
  type AssignmentPlan,
} from '../../assignment/index.js';
import type { TopicPartition } from '../../port/record.js';
import type { Runtime } from '../../runtime/index.js';
import { ConsumerMember, type BeatAnswer, type BeatRequest } from './consumer-member.js';
import { fenced, StaticMembers } from './static-members.js';
import type { GroupIdentity } from './group.js';
import { isRefusal, Refusal } from './refusal.js';
import type { Topics } from './topics.js';

export interface ConsumerGroupOptions {
  readonly consumerSessionTimeoutMs: number;
  readonly consumerHeartbeatIntervalMs: number;
}

const nameOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;
const assignor = assignorNamed('sticky');

/**
 * A group whose broker decides who reads what (KIP-848). Each change makes a new epoch with a new
 * plan. A member gets there by itself: first it lets go of what the plan does not give it, then it
 * is given what the others have let go.
 */
export class ConsumerGroup {
  epoch = 0;
  readonly members = new Map<string, ConsumerMember>();
  readonly #statics: StaticMembers;
  #plan: AssignmentPlan = new Map();
  #counts = new Map<string, number>();

  constructor(
    private readonly id: string,
    private readonly topics: Topics,
    private readonly runtime: Runtime,
    private readonly options: ConsumerGroupOptions,
    private readonly onEmpty: () => void,
  ) {
    this.#statics = new StaticMembers(id);
  }

  beat(request: BeatRequest): BeatAnswer {
    const member = request.epoch === 0 ? this.#admit(request) : this.#current(request);
    member.touch(this.options.consumerSessionTimeoutMs);
    if (this.#topicsChanged()) this.#planAnew();
    return this.#reconcile(member, new Set(request.owned.map(nameOf)));
  }

  /** A static member keeps what it has until its session is over. */
  leave(memberId: string): void {
    const member = this.#member(memberId);
    if (member.instanceId === null) this.#remove(member);
    else member.isAway = true;
  }

  expel(memberId: string): void {
    this.#remove(this.#member(memberId));
  }

  checkCommit({ memberId, generation, groupInstanceId = null }: GroupIdentity): void {
    this.#statics.check(groupInstanceId, memberId);
    const { epoch } = this.#member(memberId);
    if (generation !== epoch)
      throw new Refusal(
        'STALE_MEMBER_EPOCH',
        `epoch ${generation} is not that of member "${memberId}", which is at ${epoch}`,
      );
  }

  /** Its requests are older than member epochs, and put it in the words of generations. */
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

  reads(topic: string): boolean {
    return [...this.members.values()].some(({ request }) => request.topics.includes(topic));
  }

  #admit(request: BeatRequest): ConsumerMember {
    const { memberId, groupInstanceId } = request;
    const known = this.members.get(memberId);
    if (known) return known;
    const holder = this.members.get(this.#statics.holderOf(groupInstanceId) ?? '');
    if (holder && !holder.isAway)
      throw new Refusal(
        'UNRELEASED_INSTANCE_ID',
        `another session has the group instance id "${groupInstanceId}" and has not gone`,
      );
    const member = new ConsumerMember(request, this.runtime, (each) => this.#remove(each));
    this.members.set(memberId, member);
    this.#statics.take(groupInstanceId, memberId);
    if (holder) this.#succeed(holder, member);
    else this.#planAnew();
    return member;
  }

  #succeed(holder: ConsumerMember, successor: ConsumerMember): void {
    successor.held = holder.held;
    this.#plan = new Map([...this.#plan, [successor.id, this.#plan.get(holder.id) ?? []]]);
    holder.dismiss();
    this.members.delete(holder.id);
  }

  #current({ memberId, groupInstanceId, epoch }: BeatRequest): ConsumerMember {
    const member = this.#member(memberId);
    const holder = this.#statics.holderOf(groupInstanceId);
    if (holder !== undefined && holder !== memberId) throw fenced(groupInstanceId ?? '');
    if (epoch !== member.epoch && epoch !== member.previousEpoch)
      throw new Refusal(
        'FENCED_MEMBER_EPOCH',
        `epoch ${epoch} is not that of member "${memberId}", which is at ${member.epoch}`,
      );
    return member;
  }

  #reconcile(member: ConsumerMember, owned: ReadonlySet<string>): BeatAnswer {
    const planned = this.#plan.get(member.id) ?? [];
    const wanted = new Set(planned.map(nameOf));
    const kept = member.held.filter((each) => wanted.has(nameOf(each)));
    const leaving = member.held.filter(
      (each) => !wanted.has(nameOf(each)) && owned.has(nameOf(each)),
    );
    member.awaitRelease(leaving.length > 0);
    if (leaving.length > 0) {
      member.held = [...kept, ...leaving];
      return this.#answer(member, kept);
    }
    const taken = this.#heldByOthers(member);
    member.held = planned.filter((each) => !taken.has(nameOf(each)));
    member.enter(this.epoch);
    return this.#answer(member, member.held);
  }

  #answer({ epoch }: ConsumerMember, assignment: readonly TopicPartition[]): BeatAnswer {
    return { epoch, intervalMs: this.options.consumerHeartbeatIntervalMs, assignment };
  }

  #heldByOthers(member: ConsumerMember): ReadonlySet<string> {
    const others = [...this.members.values()].filter((each) => each !== member);
    return new Set(others.flatMap(({ held }) => held.map(nameOf)));
  }

  #remove(member: ConsumerMember): void {
    member.dismiss();
    this.members.delete(member.id);
    this.#statics.forget(member.instanceId, member.id);
    this.#planAnew();
    if (this.members.size === 0) this.onEmpty();
  }

  #planAnew(): void {
    this.epoch += 1;
    this.#topicsChanged();
    const members = [...this.members.values()].map((each) => this.#asAssigned(each));
    this.#plan = assignor.assign({ members, partitionsOf: this.#counts });
  }

  #asAssigned({ id, instanceId, request }: ConsumerMember): AssignorMember {
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

  #topicsChanged(): boolean {
    const names = new Set([...this.members.values()].flatMap(({ request }) => request.topics));
    const counts = new Map(
      [...names].flatMap((name) => {
        const topic = this.topics.find(name);
        return topic ? [[name, topic.partitions.length] as const] : [];
      }),
    );
    const before = this.#counts;
    this.#counts = counts;
    return (
      before.size !== counts.size || [...counts].some(([name, count]) => before.get(name) !== count)
    );
  }

  #member(memberId: string): ConsumerMember {
    const member = this.members.get(memberId);
    if (!member)
      throw new Refusal('UNKNOWN_MEMBER_ID', `group "${this.id}" has no member "${memberId}"`);
    return member;
  }
}
