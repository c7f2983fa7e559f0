import type { Runtime, Timer } from '../../../runtime/index.js';
import { ClassicMember, type JoinResponse, type JoinRequest } from './classic-member.js';
import { chooseProtocol, isCompatible } from './group-protocol.js';
import { joinResponse } from './join-response.js';
import { PendingMemberIds } from './pending-member-ids.js';
import { MemberIdRequired, Refusal } from '../faults/refusal.js';
import { instanceFenced, StaticMembers } from './static-members.js';

/*
 * States of a classic group:
 *
 *           join                 all joined, or         leader synced
 *  Empty ─────────► Preparing ── rebalance timeout ───► Completing ──────► Stable
 *    ▲                │  ▲                                │                  │
 *    └── no members ──┘  └── join, leave, expiry ◄────────┴──────────────────┘
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

/** The members of a group with the classic protocol, in which they agree on generations. */
export class ClassicGroup {
  state: GroupState = 'Empty';
  generation = 0;
  protocolType = '';
  protocol: string | null = null;
  emptySince: number;
  readonly members = new Map<string, ClassicMember>();
  readonly #staticMembers: StaticMembers;
  #leaderId: string | undefined;
  readonly #pendingIds: PendingMemberIds;
  #rebalanceTimer: Timer | undefined;
  #isInInitialDelay = false;
  #syncTimer: Timer | undefined;

  constructor(
    readonly id: string,
    private readonly runtime: Runtime,
    private readonly options: GroupOptions,
  ) {
    this.emptySince = runtime.now();
    this.#staticMembers = new StaticMembers(id);
    this.#pendingIds = new PendingMemberIds(runtime, () => this.#completeWhenAllJoined());
  }

  join(request: JoinRequest): Promise<JoinResponse> {
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
        this.#pendingIds.issue(request.clientId, request.sessionTimeoutMs),
      );
    if (this.#pendingIds.claim(request.memberId)) return this.#addMember(request);
    this.#staticMembers.check(instanceId, request.memberId);
    return this.#rejoin(this.#requireMember(request.memberId), request);
  }

  sync(identity: GroupIdentity, plan: ReadonlyMap<string, Buffer>): Promise<Buffer> {
    const member = this.#requireCurrent(identity);
    if (this.state === 'PreparingRebalance') throw rebalanceInProgress(this.id);
    if (this.state === 'Stable') {
      member.extendSession();
      return Promise.resolve(member.assignment);
    }
    const answer = member.waitToSync();
    if (member.id === this.#leaderId) this.#completeSync(plan);
    return answer;
  }

  heartbeat(identity: GroupIdentity): void {
    const member = this.#requireCurrent(identity);
    if (!member.pendingJoin && !member.pendingSync) member.extendSession();
    if (this.state === 'PreparingRebalance') throw rebalanceInProgress(this.id);
  }

  leave(memberId: string): void {
    if (this.#pendingIds.claim(memberId)) return this.#completeWhenAllJoined();
    this.#remove(this.#requireMember(memberId), 'it left the group');
  }

  /**
   * Checks whether the member may commit offsets now. Its assignment is not checked, as on a real
   * broker.
   */
  checkCommit(identity: GroupIdentity): void {
    if (isNoMember(identity) && this.state === 'Empty') return;
    const member = this.#requireCurrent(identity);
    if (this.state === 'CompletingRebalance') throw rebalanceInProgress(this.id);
    if (!member.pendingJoin) member.extendSession();
  }

  checkTransactionalCommit(identity: GroupIdentity): void {
    if (!isNoMember(identity)) this.#requireCurrent(identity);
  }

  /** Removes a member as its session timeout does. */
  expel(memberId: string): void {
    this.#remove(this.#requireMember(memberId), 'its session timed out');
  }

  #addMember(request: JoinRequest): Promise<JoinResponse> {
    const member = this.#newMember(request);
    this.#leaderId ??= member.id;
    return this.#joinIntoRebalance(member);
  }

  #newMember(request: JoinRequest): ClassicMember {
    const member = new ClassicMember(request.memberId, request, this.runtime, ({ id }) =>
      this.expel(id),
    );
    this.protocolType = request.protocolType;
    this.members.set(member.id, member);
    this.#staticMembers.register(member.instanceId, member.id);
    return member;
  }

  /** Replaces a static member that restarted; its predecessor need not have left. */
  #joinStatic(instanceId: string, request: JoinRequest): Promise<JoinResponse> {
    const holder = this.members.get(this.#staticMembers.memberIdOf(instanceId) ?? '');
    const memberId = `${instanceId}-${this.runtime.uuid()}`;
    if (!holder) return this.#addMember({ ...request, memberId });
    const successor = this.#newMember({ ...request, memberId });
    successor.assignment = holder.assignment;
    if (this.#leaderId === holder.id) this.#leaderId = successor.id;
    this.members.delete(holder.id);
    holder.dismiss(instanceFenced(instanceId));
    const isUnmoved =
      this.state === 'Stable' && chooseProtocol([...this.members.values()]) === this.protocol;
    if (!isUnmoved) return this.#joinIntoRebalance(successor);
    successor.extendSession();
    return Promise.resolve({
      ...joinResponse(this, successor, this.#leaderId),
      skipAssignment: successor.id === this.#leaderId,
    });
  }

  #rejoin(member: ClassicMember, request: JoinRequest): Promise<JoinResponse> {
    const unchanged = member.hasSameProtocols(request);
    const repeats =
      unchanged &&
      (this.state === 'CompletingRebalance' ||
        (this.state === 'Stable' && member.id !== this.#leaderId));
    if (repeats) {
      member.extendSession();
      return Promise.resolve(joinResponse(this, member, this.#leaderId));
    }
    member.update(request);
    return this.#joinIntoRebalance(member);
  }

  #joinIntoRebalance(member: ClassicMember): Promise<JoinResponse> {
    const answer = member.waitToJoin();
    if (this.state !== 'PreparingRebalance') this.#startRebalance();
    else this.#completeWhenAllJoined();
    return answer;
  }

  #startRebalance(): void {
    const first = this.state === 'Empty';
    this.#syncTimer?.cancel();
    for (const member of this.members.values()) {
      member.pendingSync?.reject(rebalanceInProgress(this.id));
      if (member.pendingSync) member.extendSession();
      member.pendingSync = undefined;
      if (this.state === 'CompletingRebalance') member.assignment = Buffer.alloc(0);
    }
    this.state = 'PreparingRebalance';
    const delayMs = first
      ? this.options.initialRebalanceDelayMs
      : Math.max(0, ...[...this.members.values()].map((each) => each.rebalanceTimeoutMs));
    if (first && delayMs === 0) return this.#completeJoin();
    this.#isInInitialDelay = first;
    this.#rebalanceTimer = this.runtime.setTimer(() => this.#completeJoin(), delayMs, {
      background: true,
    });
    this.#completeWhenAllJoined();
  }

  #completeWhenAllJoined(): void {
    if (this.state !== 'PreparingRebalance' || this.#isInInitialDelay || !this.#pendingIds.isEmpty)
      return;
    if ([...this.members.values()].every(({ pendingJoin: join }) => join)) this.#completeJoin();
  }

  #completeJoin(): void {
    this.#rebalanceTimer?.cancel();
    this.#isInInitialDelay = false;
    // A static member stays in the group until its session timeout.
    for (const member of [...this.members.values()])
      if (!member.pendingJoin && member.instanceId === null) this.#deleteMember(member);
    if (this.members.size > 0 && !this.#electLeader()) return this.#waitForStaticMembers();
    this.generation += 1;
    if (this.members.size === 0) return this.#becomeEmpty();
    this.protocol = chooseProtocol([...this.members.values()]);
    this.state = 'CompletingRebalance';
    for (const member of this.members.values()) {
      member.pendingJoin?.resolve(joinResponse(this, member, this.#leaderId));
      member.pendingJoin = undefined;
      member.extendSession();
    }
    this.#startSyncTimer();
  }

  /** Elects a leader among the members that have joined. Returns false if none has. */
  #electLeader(): boolean {
    if (!this.members.get(this.#leaderId ?? '')?.pendingJoin) this.#leaderId = this.#nextLeader();
    return this.members.get(this.#leaderId ?? '')?.pendingJoin !== undefined;
  }

  /** Waits again, because only absent static members are left. */
  #waitForStaticMembers(): void {
    const limit = Math.max(...[...this.members.values()].map((each) => each.rebalanceTimeoutMs));
    this.#rebalanceTimer = this.runtime.setTimer(() => this.#completeJoin(), limit, {
      background: true,
    });
  }

  #becomeEmpty(): void {
    this.state = 'Empty';
    this.protocol = null;
    this.protocolType = '';
    this.emptySince = this.runtime.now();
  }

  /** Limits the wait for a member that joins and never syncs to the rebalance timeout. */
  #startSyncTimer(): void {
    const limit = Math.max(...[...this.members.values()].map((each) => each.rebalanceTimeoutMs));
    const generation = this.generation;
    this.#syncTimer = this.runtime.setTimer(
      () => {
        const silent = [...this.members.values()].filter(({ pendingSync: sync }) => !sync);
        if (this.state !== 'CompletingRebalance' || this.generation !== generation) return;
        for (const member of silent) this.#deleteMember(member);
        this.#startRebalance();
      },
      limit,
      { background: true },
    );
  }

  #completeSync(plan: ReadonlyMap<string, Buffer>): void {
    this.#syncTimer?.cancel();
    this.state = 'Stable';
    for (const member of this.members.values()) {
      member.assignment = plan.get(member.id) ?? Buffer.alloc(0);
      member.pendingSync?.resolve(member.assignment);
      member.pendingSync = undefined;
      member.extendSession();
    }
  }

  #remove(member: ClassicMember, why: string): void {
    this.#deleteMember(member, why);
    if (this.state === 'PreparingRebalance') this.#completeWhenAllJoined();
    else this.#startRebalance();
  }

  #deleteMember(member: ClassicMember, why = 'it did not rejoin in time'): void {
    this.members.delete(member.id);
    this.#staticMembers.unregister(member.instanceId, member.id);
    member.dismiss(new Refusal('UNKNOWN_MEMBER_ID', `${member.id} was removed: ${why}`));
    if (this.#leaderId === member.id) this.#leaderId = this.#nextLeader();
  }

  #nextLeader(): string | undefined {
    const members = [...this.members.values()];
    return (members.find(({ pendingJoin: join }) => join) ?? members[0])?.id;
  }

  #requireMember(memberId: string): ClassicMember {
    const member = this.members.get(memberId);
    if (!member)
      throw new Refusal('UNKNOWN_MEMBER_ID', `group "${this.id}" has no member "${memberId}"`);
    return member;
  }

  #requireCurrent({ memberId, generation, groupInstanceId = null }: GroupIdentity): ClassicMember {
    this.#staticMembers.check(groupInstanceId, memberId);
    const member = this.#requireMember(memberId);
    if (generation !== this.generation)
      throw new Refusal(
        'ILLEGAL_GENERATION',
        `generation ${generation} is over: group "${this.id}" is at ${this.generation}`,
      );
    return member;
  }
}

function isNoMember({ memberId, generation }: GroupIdentity): boolean {
  return generation < 0 && memberId === '';
}

function rebalanceInProgress(groupId: string): Refusal {
  return new Refusal('REBALANCE_IN_PROGRESS', `group "${groupId}" is rebalancing`);
}
