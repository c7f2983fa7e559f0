import {
  assignorNamed,
  decodeAssignment,
  type PreviousAssignment,
} from '../../../assignment/index.js';
import { FencedError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-consumer-options.js';
import { Backoff, within } from '../../../runtime/index.js';
import type { JoinResponse } from '../../broker/groups/classic-member.js';
import { isRefusal, MemberIdRequired } from '../../broker/faults/refusal.js';
import type { Connection } from '../connection.js';
import { partitionName } from '../../../port/topic-partition.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { PartitionLifecycle } from './partition-lifecycle.js';
import type { GroupMembership, CurrentMember } from './group-membership.js';
import type { GroupClient, Identity, LeaderPlan } from './group-client.js';
import type { SessionContext } from './session-context.js';
import { lossFrom, Generation, type MembershipLoss } from './generation.js';
import type { TopicWatch } from './topic-watch.js';

export interface MembershipContext extends SessionContext {
  readonly connection: Connection;
  readonly group: GroupClient;
  readonly topics: TopicWatch;
  readonly lifecycle: PartitionLifecycle;
}

interface JoinedGeneration {
  readonly generation: Generation;
  readonly plan: LeaderPlan;
  readonly partitions: readonly TopicPartition[];
}

/**
 * The delay before a retry of an error whose cause is elsewhere: a permission, or the assignors of
 * other members.
 */
const SLOW_RETRY_MS = 5_000;

/**
 * The part of the rebalance timeout that `onRevoked` may take. Afterwards the partitions are lost.
 */
export const REVOCATION_SHARE = 0.9;

const NO_MEMBER: Identity = { memberId: '', generation: -1 };

/**
 * Membership by the classic protocol, one generation after the other:
 *
 *   join ──► sync ──► assign ──► heartbeats ──► revoke ──┐ (rebalance)
 *    ▲                               │                   │
 *    │                               ├──► onLost ────────┤ (lost)
 *    └───────────────────────────────┼───────────────────┘
 *                                    └──► revoke ──► leave (closing)
 *
 * In a cooperative group a rebalance leads directly to the next join, with all owned partitions.
 * The partitions that the sync does not confirm are revoked, and the member joins again without
 * them.
 */
export class ClassicMembership implements GroupMembership {
  identity: Identity = NO_MEMBER;
  #generation: Generation | undefined;
  #previous: PreviousAssignment | null = null;
  #isJoining = false;
  #isClosing = false;
  #eagerLoss: Promise<void> | undefined;
  readonly #closing = new AbortController();
  readonly #backoff: Backoff;

  constructor(
    private readonly context: MembershipContext,
    private readonly options: ResolvedConsumerOptions,
  ) {
    this.#backoff = new Backoff(context.connection.cluster.runtime, {
      initialMs: 50,
      maxMs: 2_000,
    });
  }

  /** The generation that commits use. During a rejoin it is the previous one. */
  get current(): Generation | undefined {
    return this.#generation;
  }

  /**
   * Returns whether the group may have a newer generation in which this member still owns its
   * partitions.
   */
  mayStillOwn(generation: CurrentMember): boolean {
    return this.#owned.length > 0 && (this.#isJoining || generation !== this.#generation);
  }

  /**
   * Runs until the session closes, then revokes the partitions and leaves the group. Never throws.
   */
  async run(onFirstAssignment: () => void): Promise<void> {
    const { topics, status } = this.context;
    status.joining();
    await topics.untilAllExist(this.#closing.signal);
    while (!this.#isClosing) {
      const entered = await this.#joinAndSync();
      if (entered) await this.#runGeneration(entered, onFirstAssignment);
    }
    // The session was closed during a cooperative rebalance, so the owned partitions are revoked
    // now.
    if (this.#generation) await this.#revoke(this.#generation, this.#owned);
    this.#endGeneration();
  }

  /** Cancels pending requests and starts the revocation. */
  close(): void {
    this.#isClosing = true;
    this.#closing.abort(new Error('The session is closing.'));
    this.#generation?.end({ kind: 'closing' });
  }

  /**
   * Leaves the group. A static member does not leave: the group keeps its partitions until the
   * session timeout.
   */
  async leave(timeoutMs: number): Promise<void> {
    const { memberId } = this.identity;
    this.identity = NO_MEMBER;
    if (memberId === '' || this.options.groupInstanceId !== null) return;
    await this.context.group.leave(memberId, timeoutMs).catch((error: unknown) => {
      if (!isRefusal(error, 'UNKNOWN_MEMBER_ID')) this.context.status.report(toBrokerError(error));
    });
  }

  get #owned(): readonly TopicPartition[] {
    return this.context.ownership.list();
  }

  /** Runs join and sync once. Returns undefined if both must be repeated. */
  async #joinAndSync(): Promise<JoinedGeneration | undefined> {
    const { group, status } = this.context;
    if (this.#owned.length === 0) this.#endGeneration();
    status.joining();
    this.#isJoining = true;
    const { runtime } = this.context.connection.cluster;
    const joinSentAt = runtime.monotonic();
    try {
      const answer = await group.join(this.identity.memberId, this.#claim(), this.#signal);
      this.#onJoined(answer, joinSentAt);
      const plan = await group.plan(answer, this.#signal);
      const shares = answer.skipAssignment ? new Map<string, Buffer>() : plan.shares;
      const syncSentAt = runtime.monotonic();
      const share = await group.sync(this.identity, shares, this.#signal);
      this.#backoff.reset();
      status.recovered('group');
      const partitions = decodeAssignment(share);
      this.#previous = { partitions, generation: answer.generation };
      const generation = this.#generation ?? this.#newGeneration(answer);
      generation.renewLease(syncSentAt);
      return { generation, plan, partitions };
    } catch (error) {
      await this.#handleJoinError(error);
      return undefined;
    } finally {
      this.#isJoining = false;
    }
  }

  /** Aborts when the session closes, and when the owned partitions are lost during a join. */
  get #signal(): AbortSignal {
    const { signal } = this.#closing;
    return this.#generation ? AbortSignal.any([signal, this.#generation.signal]) : signal;
  }

  #endGeneration(): void {
    this.#generation?.stop();
    this.#generation = undefined;
  }

  /**
   * Returns the claim for the next join, with the generation of the last sync. A join without a
   * sync has confirmed no assignment.
   */
  #claim() {
    const previous = this.#previous;
    const partitions = this.#owned;
    const held = partitions.length === 0 || !previous ? null : { ...previous, partitions };
    return { previous, held };
  }

  /**
   * Handles a join response. Owned partitions are kept, unless the group has chosen an eager
   * assignor.
   */
  #onJoined(answer: JoinResponse, joinSentAt: number): void {
    this.identity = { memberId: answer.memberId, generation: answer.generation };
    const { sessionTimeoutMs } = this.options;
    const leaseUntil = this.#generation?.leaseUntil ?? -Infinity;
    this.#endGeneration();
    const owned = this.#owned;
    if (owned.length === 0) return;
    if (assignorNamed(answer.protocol).cooperative)
      this.#newGeneration(answer).renewLease(Math.max(joinSentAt, leaseUntil - sessionTimeoutMs));
    else this.#eagerLoss = this.#losePartitions(owned, lostToEagerError(owned, answer.protocol));
  }

  #newGeneration(answer: JoinResponse): Generation {
    const generation = new Generation(
      this.identity,
      assignorNamed(answer.protocol).cooperative,
      this.context.group,
      { ...this.options, isJoining: () => this.#isJoining },
      this.context.connection.cluster.runtime,
      this.context.status,
      (error) => this.context.fail(error),
    );
    this.#generation = generation;
    void generation.lost.then(() => this.context.lifecycle.markLost(this.#owned));
    if (this.#isClosing) generation.end({ kind: 'closing' });
    return generation;
  }

  async #handleJoinError(error: unknown): Promise<void> {
    const loss = this.#lossDuringJoin(error);
    if (loss) return this.#onLost(loss);
    if (this.#isClosing) return;
    if (error instanceof MemberIdRequired) {
      this.identity = { memberId: error.memberId, generation: -1 };
      return;
    }
    if (isRefusal(error, 'UNKNOWN_MEMBER_ID')) {
      this.identity = NO_MEMBER;
      return;
    }
    if (isRefusal(error, 'REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION')) return;
    const shown = toBrokerError(error);
    this.context.status.retrying('group', shown);
    const delayMs = isRetriable(shown) ? this.#backoff.next() : SLOW_RETRY_MS;
    await this.context.delay(delayMs, this.#closing.signal);
  }

  /**
   * Returns the loss if a generation started without this member, because its partitions may then
   * belong to others.
   */
  #lossDuringJoin(error: unknown): MembershipLoss | undefined {
    if (isRefusal(error, 'FENCED_INSTANCE_ID')) return lossFrom(error);
    if (this.#generation && isRefusal(error, 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION'))
      return lossFrom(error);
    return this.#generation?.loss;
  }

  async #runGeneration(
    { generation, plan, partitions }: JoinedGeneration,
    onFirst: () => void,
  ): Promise<void> {
    const { topics, lifecycle } = this.context;
    await this.#eagerLoss;
    const owned = new Set(this.#owned.map(partitionName));
    const wanted = new Set(partitions.map(partitionName));
    const added = partitions.filter((each) => !owned.has(partitionName(each)));
    const gone = this.#owned.filter((each) => !wanted.has(partitionName(each)));
    if (gone.length > 0) {
      await this.#revoke(generation, gone);
      if (added.length > 0 && !this.#isClosing && !generation.signal.aborted)
        void lifecycle.assign(added);
      return;
    }
    const assigned =
      owned.size > 0 && added.length === 0 ? Promise.resolve() : lifecycle.assign(added);
    void assigned.then(() => this.#reportStable(generation, onFirst));
    void topics
      .untilChanged(plan, generation.signal)
      .then(() => generation.end({ kind: 'rebalance' }));
    await this.#waitForEnd(generation);
  }

  #reportStable(generation: Generation, onFirst: () => void): void {
    onFirst();
    if (!generation.isEnding && !this.#isClosing)
      this.context.status.stable(generation.identity.generation);
  }

  async #waitForEnd(generation: Generation): Promise<void> {
    const end = await generation.ended;
    if (!this.#isClosing) this.context.status.joining();
    if (end.kind === 'lost') return this.#onLost(end);
    if (end.kind === 'rebalance' && generation.isCooperative && this.#owned.length > 0) return;
    await this.#revoke(generation, this.#owned);
    this.#endGeneration();
  }

  /**
   * Revokes partitions while heartbeats continue. A revocation that exceeds the timeout is a loss.
   */
  async #revoke(generation: Generation, partitions: readonly TopicPartition[]): Promise<void> {
    const { lifecycle, connection } = this.context;
    const boundMs = this.options.rebalanceTimeoutMs * REVOCATION_SHARE;
    const late = (): Error => revocationTimedOutError(partitions, this.options.rebalanceTimeoutMs);
    const returned = within(
      connection.cluster.runtime,
      boundMs,
      lifecycle.revoke(partitions),
      late,
    ).then(
      () => undefined,
      (error: Error) => error,
    );
    const end = await Promise.race([returned, generation.lost]);
    if (end === undefined) lifecycle.release(partitions);
    else if (end instanceof Error) await this.#losePartitions(partitions, end);
    else await this.#onLost(end);
  }

  async #losePartitions(partitions: readonly TopicPartition[], error: Error): Promise<void> {
    const { connection, status, lifecycle } = this.context;
    status.report(error);
    lifecycle.markLost(partitions);
    const late = (): Error => new FencedError(partitions, 'onLost did not end in time.');
    const { rebalanceTimeoutMs } = this.options;
    await within(
      connection.cluster.runtime,
      rebalanceTimeoutMs,
      lifecycle.notifyLost(),
      late,
    ).catch((tooLate: Error) => status.report(tooLate));
  }

  async #onLost({ forgetId, error, isFinal }: MembershipLoss): Promise<void> {
    this.#endGeneration();
    this.identity = { memberId: forgetId ? '' : this.identity.memberId, generation: -1 };
    await this.#losePartitions(this.#owned, error);
    if (isFinal) this.context.fail(error);
  }
}

export function revocationTimedOutError(
  partitions: readonly TopicPartition[],
  timeoutMs: number,
): FencedError {
  return new FencedError(
    partitions,
    `onRevoked did not end within the rebalance timeout of ${timeoutMs} ms, so the group assigns the partitions to other members. Make onRevoked faster, or raise rebalanceTimeoutMs.`,
  );
}

function lostToEagerError(partitions: readonly TopicPartition[], protocol: string): FencedError {
  return new FencedError(
    partitions,
    `The group uses the assignor "${protocol}" now, which reassigns all partitions at once: a member joined that has no cooperative assignor, or prefers another. Give all members "cooperative-sticky" first.`,
  );
}
