import type { Runtime, Timer } from '../../runtime/index.js';
import { GroupMember, type JoinAnswer, type JoinRequest } from './group-member.js';
import { chooseProtocol, isCompatible } from './group-protocol.js';
import { MemberIdRequired, Refusal } from './refusal.js';

/*
 *           join                 all joined, or         leader synced
 *  Empty ─────────► Preparing ── rebalance time-out ──► Completing ──────► Stable
 *    ▲                │  ▲                                │                  │
 *    └── nobody left ─┘  └── join, leave, expiry ◄────────┴──────────────────┘
 */
export type GroupState = 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable';

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
  #leaderId: string | undefined;
  /** Ids that were given out and not joined with yet: the group waits for them too. */
  readonly #promised = new Map<string, Timer>();
  #rebalance: Timer | undefined;
  #collecting = false;
  #syncs: Timer | undefined;

  constructor(
    readonly id: string,
    private readonly runtime: Runtime,
    private readonly options: GroupOptions,
  ) {
    this.emptySince = runtime.now();
  }

  join(request: JoinRequest): Promise<JoinAnswer> {
    if (!isCompatible(request, this.protocolType, [...this.members.values()]))
      throw new Refusal(
        'INCONSISTENT_GROUP_PROTOCOL',
        `group "${this.id}" has no assignor in common with this member`,
      );
    if (request.memberId === '') throw this.#promiseId(request);
    const promised = this.#promised.get(request.memberId);
    if (promised) {
      promised.cancel();
      this.#promised.delete(request.memberId);
      return this.#addMember(request);
    }
    return this.#rejoin(this.#member(request.memberId), request);
  }

  sync(memberId: string, generation: number, plan: ReadonlyMap<string, Buffer>): Promise<Buffer> {
    const member = this.#current(memberId, generation);
    if (this.state === 'PreparingRebalance') throw rebalancing(this.id);
    if (this.state === 'Stable') {
      member.touch();
      return Promise.resolve(member.assignment);
    }
    const answer = member.waitToSync();
    if (memberId === this.#leaderId) this.#distribute(plan);
    return answer;
  }

  heartbeat(memberId: string, generation: number): void {
    const member = this.#current(memberId, generation);
    if (!member.join && !member.sync) member.touch();
    if (this.state === 'PreparingRebalance') throw rebalancing(this.id);
  }

  leave(memberId: string): void {
    const promised = this.#promised.get(memberId);
    if (promised) {
      promised.cancel();
      this.#promised.delete(memberId);
      this.#completeWhenAllJoined();
      return;
    }
    this.#remove(this.#member(memberId), 'it left the group');
  }

  /** Whether this member may move the group's offsets now. Nobody checks what it is assigned. */
  checkCommit(memberId: string, generation: number): void {
    if (generation < 0 && memberId === '' && this.state === 'Empty') return;
    const member = this.#current(memberId, generation);
    if (this.state === 'CompletingRebalance') throw rebalancing(this.id);
    if (!member.join) member.touch();
  }

  checkTransactionalCommit(memberId: string, generation: number): void {
    if (generation < 0 && memberId === '') return;
    this.#current(memberId, generation);
  }

  /** What a session that ran out does, whoever ordered it. */
  expel(memberId: string): void {
    this.#remove(this.#member(memberId), 'its session timed out');
  }

  #promiseId(request: JoinRequest): MemberIdRequired {
    const memberId = `${request.clientId}-${this.runtime.uuid()}`;
    const forget = (): void => {
      this.#promised.delete(memberId);
      this.#completeWhenAllJoined();
    };
    this.#promised.set(
      memberId,
      this.runtime.setTimer(forget, request.sessionTimeoutMs, { background: true }),
    );
    return new MemberIdRequired(memberId);
  }

  #addMember(request: JoinRequest): Promise<JoinAnswer> {
    const member = new GroupMember(request.memberId, request, this.runtime, ({ id }) =>
      this.expel(id),
    );
    this.protocolType = request.protocolType;
    this.members.set(member.id, member);
    this.#leaderId ??= member.id;
    return this.#joinIntoRebalance(member);
  }

  #rejoin(member: GroupMember, request: JoinRequest): Promise<JoinAnswer> {
    const unchanged = member.asksTheSame(request);
    const repeats =
      unchanged &&
      (this.state === 'CompletingRebalance' ||
        (this.state === 'Stable' && member.id !== this.#leaderId));
    if (repeats) {
      member.touch();
      return Promise.resolve(this.#answerFor(member));
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
    if (this.state !== 'PreparingRebalance' || this.#collecting || this.#promised.size > 0) return;
    if ([...this.members.values()].every(({ join }) => join)) this.#complete();
  }

  #complete(): void {
    this.#rebalance?.cancel();
    this.#collecting = false;
    for (const member of [...this.members.values()]) if (!member.join) this.#forget(member);
    this.generation += 1;
    if (this.members.size === 0) return this.#becomeEmpty();
    this.protocol = chooseProtocol([...this.members.values()]);
    this.state = 'CompletingRebalance';
    for (const member of this.members.values()) {
      member.join?.resolve(this.#answerFor(member));
      member.join = undefined;
      member.touch();
    }
    this.#awaitSyncs();
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

  #answerFor(member: GroupMember): JoinAnswer {
    const protocol = this.protocol ?? '';
    const isLeader = member.id === this.#leaderId;
    return {
      generation: this.generation,
      memberId: member.id,
      leaderId: this.#leaderId ?? '',
      protocol,
      members: isLeader
        ? [...this.members.values()].map((each) => ({
            memberId: each.id,
            metadata: each.metadata(protocol),
          }))
        : [],
    };
  }

  #remove(member: GroupMember, why: string): void {
    this.#forget(member, why);
    if (this.state === 'PreparingRebalance') this.#completeWhenAllJoined();
    else this.#prepare();
  }

  #forget(member: GroupMember, why = 'it did not rejoin in time'): void {
    this.members.delete(member.id);
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

  #current(memberId: string, generation: number): GroupMember {
    const member = this.#member(memberId);
    if (generation !== this.generation)
      throw new Refusal(
        'ILLEGAL_GENERATION',
        `generation ${generation} is over: group "${this.id}" is at ${this.generation}`,
      );
    return member;
  }
}

function rebalancing(groupId: string): Refusal {
  return new Refusal('REBALANCE_IN_PROGRESS', `group "${groupId}" is rebalancing`);
}
