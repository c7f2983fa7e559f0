import type { Runtime, Timer } from '../../runtime/index.js';
import { GroupMember, type JoinAnswer, type JoinRequest } from './group-member.js';
import { chooseProtocol, isCompatible } from './group-protocol.js';
import { joinAnswer } from './join-answer.js';
import { PromisedIds } from './pending-member-ids.js';
import { MemberIdRequired, Refusal } from './refusal.js';
import { fenced, StaticMembers } from './static-members.js';

/*
 *           join                 all joined, or         leader synced
 *  Empty ─────────► Preparing ── rebalance time-out ──► Completing ──────► Stable
 *    ▲                │  ▲                                │                  │
 *    └── nobody left ─┘  └── join, leave, expiry ◄────────┴──────────────────┘
 */
export type GroupState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable';

export interface GroupIdentity {
  readonly memberId: string;
  readonly generation: number;
  readonly groupInstanceId?: string | null;
}

export interface GroupOptions {
  readonly initialRebalanceDelayMs: number;
}

/** The members of one group and the protocol by which they agree on generations. */
export class Group {
  state: GroupState = 'Empty';
  generation = 0;
  protocolType = '';
  protocol: string | null = null;
  emptySince: number;
  readonly members = new Map<string, GroupMember>();
  readonly #statics: StaticMembers;
  #leaderId: string | undefined;
  readonly #promised: PromisedIds;
  #rebalance: Timer | undefined;
  #collecting = false;
  #syncs: Timer | undefined;

  constructor(
    readonly id: string,
    private readonly runtime: Runtime,
    private readonly options: GroupOptions,
  ) {
    this.emptySince = runtime.now();
    this.#statics = new StaticMembers(id);
    this.#promised = new PromisedIds(runtime, () => this.#completeWhenAllJoined());
  }

  join(request: JoinRequest): Promise<JoinAnswer> {
    if (!isCompatible(request, this.protocolType, [...this.members.values()]))
      throw new Refusal(
        'INCONSISTENT_GROUP_PROTOCOL',
        `group "${this.id}" has no assignor in common with this member`,
      );
    const { groupInstanceId: instanceId = null } = request;
    if (request.memberId === '' && instanceId !== null)
      return this.#joinStatic(instanceId, request);
    if (request.memberId === '')
      throw new MemberIdRequired(
        this.#promised.promise(request.clientId, request.sessionTimeoutMs),
      );
    if (this.#promised.redeem(request.memberId)) return this.#addMember(request);
    this.#statics.check(instanceId, request.memberId);
    return this.#rejoin(this.#member(request.memberId), request);
  }

  sync(identity: GroupIdentity, plan: ReadonlyMap<string, Buffer>): Promise<Buffer> {
    const member = this.#current(identity);
    if (this.state === 'PreparingRebalance') throw rebalancing(this.id);
    if (this.state === 'Stable') {
      member.touch();
      return Promise.resolve(member.assignment);
    }
    const answer = member.waitToSync();
    if (member.id === this.#leaderId) this.#distribute(plan);
    return answer;
  }

  heartbeat(identity: GroupIdentity): void {
    const member = this.#current(identity);
    if (!member.join && !member.sync) member.touch();
    if (this.state === 'PreparingRebalance') throw rebalancing(this.id);
  }

  leave(memberId: string): void {
    if (this.#promised.redeem(memberId)) return this.#completeWhenAllJoined();
    this.#remove(this.#member(memberId), 'it left the group');
  }

  /** Whether this member may move the group's offsets now. Nobody checks what it is assigned. */
  checkCommit(identity: GroupIdentity): void {
    if (isNobody(identity) && this.state === 'Empty') return;
    const member = this.#current(identity);
    if (this.state === 'CompletingRebalance') throw rebalancing(this.id);
    if (!member.join) member.touch();
  }

  checkTransactionalCommit(identity: GroupIdentity): void {
    if (!isNobody(identity)) this.#current(identity);
  }

  /** What a session that ran out does, whoever ordered it. */
  expel(memberId: string): void {
    this.#remove(this.#member(memberId), 'its session timed out');
  }

  #addMember(request: JoinRequest): Promise<JoinAnswer> {
    const member = this.#newMember(request);
    this.#leaderId ??= member.id;
    return this.#joinIntoRebalance(member);
  }

  #newMember(request: JoinRequest): GroupMember {
    const member = new GroupMember(request.memberId, request, this.runtime, ({ id }) =>
      this.expel(id),
    );
    this.protocolType = request.protocolType;
    this.members.set(member.id, member);
    this.#statics.take(member.instanceId, member.id);
    return member;
  }

  /** One that comes back takes the place of its predecessor, which need not have left. */
  #joinStatic(instanceId: string, request: JoinRequest): Promise<JoinAnswer> {
    const holder = this.members.get(this.#statics.holderOf(instanceId) ?? '');
    const memberId = `${instanceId}-${this.runtime.uuid()}`;
    if (!holder) return this.#addMember({ ...request, memberId });
    const successor = this.#newMember({ ...request, memberId });
    successor.assignment = holder.assignment;
    if (this.#leaderId === holder.id) this.#leaderId = successor.id;
    this.members.delete(holder.id);
    holder.dismiss(fenced(instanceId));
    const isUnmoved =
      this.state === 'Stable' && chooseProtocol([...this.members.values()]) === this.protocol;
    if (!isUnmoved) return this.#joinIntoRebalance(successor);
    successor.touch();
    return Promise.resolve({
      ...joinAnswer(this, successor, this.#leaderId),
      skipAssignment: successor.id === this.#leaderId,
    });
  }

  #rejoin(member: GroupMember, request: JoinRequest): Promise<JoinAnswer> {
    const unchanged = member.asksTheSame(request);
    const repeats =
      unchanged &&
      (this.state === 'CompletingRebalance' ||
        (this.state === 'Stable' && member.id !== this.#leaderId));
    if (repeats) {
      member.touch();
      return Promise.resolve(joinAnswer(this, member, this.#leaderId));
    }
    member.update(request);
    return this.#joinIntoRebalance(member);
  }

  #joinIntoRebalance(member: GroupMember): Promise<JoinAnswer> {
    const answer = member.waitToJoin();
    if (this.state !== 'PreparingRebalance') this.#prepare();
    else this.#completeWhenAllJoined();
    return answer;
  }

  #prepare(): void {
    const first = this.state === 'Empty';
    this.#syncs?.cancel();
    for (const member of this.members.values()) {
      member.sync?.reject(rebalancing(this.id));
      if (member.sync) member.touch();
      member.sync = undefined;
      if (this.state === 'CompletingRebalance') member.assignment = Buffer.alloc(0);
    }
    this.state = 'PreparingRebalance';
    const delayMs = first
      ? this.options.initialRebalanceDelayMs
      : Math.max(0, ...[...this.members.values()].map((each) => each.rebalanceTimeoutMs));
    if (first && delayMs === 0) return this.#complete();
    this.#collecting = first;
    this.#rebalance = this.runtime.setTimer(() => this.#complete(), delayMs, { background: true });
    this.#completeWhenAllJoined();
  }

  #completeWhenAllJoined(): void {
    if (this.state !== 'PreparingRebalance' || this.#collecting || !this.#promised.isEmpty) return;
    if ([...this.members.values()].every(({ join }) => join)) this.#complete();
  }

  #complete(): void {
    this.#rebalance?.cancel();
    this.#collecting = false;
    // A static member keeps its place until its session is over.
    for (const member of [...this.members.values()])
      if (!member.join && member.instanceId === null) this.#forget(member);
    if (this.members.size > 0 && !this.#electLeader()) return this.#waitOn();
    this.generation += 1;
    if (this.members.size === 0) return this.#becomeEmpty();
    this.protocol = chooseProtocol([...this.members.values()]);
    this.state = 'CompletingRebalance';
    for (const member of this.members.values()) {
      member.join?.resolve(joinAnswer(this, member, this.#leaderId));
      member.join = undefined;
      member.touch();
    }
    this.#awaitSyncs();
  }

  /** Only who joins can lead. False when nobody does. */
  #electLeader(): boolean {
    if (!this.members.get(this.#leaderId ?? '')?.join) this.#leaderId = this.#nextLeader();
    return this.members.get(this.#leaderId ?? '')?.join !== undefined;
  }

  /** All that are left are static members which are away. */
  #waitOn(): void {
    const limit = Math.max(...[...this.members.values()].map((each) => each.rebalanceTimeoutMs));
    this.#rebalance = this.runtime.setTimer(() => this.#complete(), limit, { background: true });
  }

  #becomeEmpty(): void {
    this.state = 'Empty';
    this.protocol = null;
    this.protocolType = '';
    this.emptySince = this.runtime.now();
  }

  /** Who joins and then never asks for its share holds up the others no longer than a rebalance may take. */
  #awaitSyncs(): void {
    const limit = Math.max(...[...this.members.values()].map((each) => each.rebalanceTimeoutMs));
    const generation = this.generation;
    this.#syncs = this.runtime.setTimer(
      () => {
        const silent = [...this.members.values()].filter(({ sync }) => !sync);
        if (this.state !== 'CompletingRebalance' || this.generation !== generation) return;
        for (const member of silent) this.#forget(member);
        this.#prepare();
      },
      limit,
      { background: true },
    );
  }

  #distribute(plan: ReadonlyMap<string, Buffer>): void {
    this.#syncs?.cancel();
    this.state = 'Stable';
    for (const member of this.members.values()) {
      member.assignment = plan.get(member.id) ?? Buffer.alloc(0);
      member.sync?.resolve(member.assignment);
      member.sync = undefined;
      member.touch();
    }
  }

  #remove(member: GroupMember, why: string): void {
    this.#forget(member, why);
    if (this.state === 'PreparingRebalance') this.#completeWhenAllJoined();
    else this.#prepare();
  }

  #forget(member: GroupMember, why = 'it did not rejoin in time'): void {
    this.members.delete(member.id);
    this.#statics.forget(member.instanceId, member.id);
    member.dismiss(new Refusal('UNKNOWN_MEMBER_ID', `${member.id} was removed: ${why}`));
    if (this.#leaderId === member.id) this.#leaderId = this.#nextLeader();
  }

  #nextLeader(): string | undefined {
    const members = [...this.members.values()];
    return (members.find(({ join }) => join) ?? members[0])?.id;
  }

  #member(memberId: string): GroupMember {
    const member = this.members.get(memberId);
    if (!member)
      throw new Refusal('UNKNOWN_MEMBER_ID', `group "${this.id}" has no member "${memberId}"`);
    return member;
  }

  #current({ memberId, generation, groupInstanceId = null }: GroupIdentity): GroupMember {
    this.#statics.check(groupInstanceId, memberId);
    const member = this.#member(memberId);
    if (generation !== this.generation)
      throw new Refusal(
        'ILLEGAL_GENERATION',
        `generation ${generation} is over: group "${this.id}" is at ${this.generation}`,
      );
    return member;
  }
}

function isNobody({ memberId, generation }: GroupIdentity): boolean {
  return generation < 0 && memberId === '';
}

function rebalancing(groupId: string): Refusal {
  return new Refusal('REBALANCE_IN_PROGRESS', `group "${groupId}" is rebalancing`);
}
