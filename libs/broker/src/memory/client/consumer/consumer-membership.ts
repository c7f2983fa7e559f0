import { FencedError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-consumer-options.js';
import { Backoff, Deferred, within } from '../../../runtime/index.js';
import type { ConsumerHeartbeatResponse } from '../../broker/groups/consumer-member.js';
import { isRefusal } from '../../broker/faults/refusal.js';
import { partitionName } from '../../../port/topic-partition.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import { ConsumerMemberState } from './consumer-member-state.js';
import type { Identity } from './group-client.js';
import type { GroupMembership, CurrentMember } from './group-membership.js';
import {
  revocationTimedOutError,
  REVOCATION_SHARE,
  type MembershipContext,
} from './classic-membership.js';
import type { MembershipLoss } from './generation.js';

/** The delay before a retry of an error whose cause is elsewhere. */
const SLOW_RETRY_MS = 5_000;
const LEAVE_TIMEOUT_MS = 1_000;

/** The plan of a member of the consumer protocol, which never assigns partitions for others. */
const NO_PLAN = { shares: new Map<string, Buffer>() };

/**
 * Membership by the consumer protocol (KIP-848). Every heartbeat contains the owned partitions, and
 * its response the assigned ones. Removed partitions are revoked, and the next heartbeat reports
 * their release at once. The other partitions are not affected.
 */
export class ConsumerMembership implements GroupMembership {
  #member: ConsumerMemberState | undefined;
  #isClosing = false;
  readonly #closing = new AbortController();
  readonly #closed = new Deferred<undefined>();
  /** The pending revocation of each partition. */
  readonly #revoking = new Map<string, Promise<void>>();
  #assigning = 0;
  #pauseEnd = new AbortController();

  constructor(
    private readonly context: MembershipContext,
    private readonly options: ResolvedConsumerOptions,
  ) {}

  get identity(): Identity {
    const { identity } = this.#member ?? {};
    return identity && identity.generation > 0 ? identity : { memberId: '', generation: -1 };
  }

  get current(): CurrentMember | undefined {
    return this.#member;
  }

  /**
   * Returns false, because an old epoch has its own error code, after which the commit is repeated.
   */
  mayStillOwn(): boolean {
    return false;
  }

  async run(onFirstAssignment: () => void): Promise<void> {
    const { topics, status } = this.context;
    status.joining();
    await topics.untilAllExist(this.#closing.signal);
    while (!this.#isClosing) await this.#runMembership(onFirstAssignment);
  }

  close(): void {
    this.#isClosing = true;
    this.#closing.abort(new Error('The session is closing.'));
    this.#closed.resolve(undefined);
  }

  /**
   * Leaves the group. A static member leaves too: the group keeps its partitions, and a new member
   * may use its instance id.
   */
  async leave(timeoutMs: number): Promise<void> {
    const member = this.#member;
    this.#member = undefined;
    if (!member) return;
    await this.context.group.leave(member.identity.memberId, timeoutMs).catch((error: unknown) => {
      if (!isRefusal(error, 'UNKNOWN_MEMBER_ID')) this.context.status.report(toBrokerError(error));
    });
  }

  get #owned(): readonly TopicPartition[] {
    return this.context.ownership.list();
  }

  async #runMembership(onFirst: () => void): Promise<void> {
    const { cluster } = this.context.connection;
    const { consumerSessionTimeoutMs } = cluster.groups;
    const member = new ConsumerMemberState(cluster.runtime, consumerSessionTimeoutMs);
    this.#member = member;
    this.context.status.joining();
    const heartbeats = this.#runHeartbeats(member, onFirst);
    void this.context.topics.untilChanged(NO_PLAN, member.signal);
    const loss =
      (await Promise.race([member.lost, this.#closed.promise])) ?? (await this.#revokeAll(member));
    if (loss) await this.#onLost(member, loss);
    member.stop();
    await heartbeats;
  }

  async #runHeartbeats(member: ConsumerMemberState, onFirst: () => void): Promise<void> {
    const { runtime } = this.context.connection.cluster;
    const backoff = new Backoff(runtime, { initialMs: 50, maxMs: 2_000 });
    while (!member.signal.aborted) {
      let pauseMs: number;
      this.#pauseEnd = new AbortController();
      try {
        pauseMs = await this.#heartbeat(member, onFirst);
        backoff.reset();
      } catch (error) {
        if (member.signal.aborted) return;
        pauseMs = this.#handleError(member, error, backoff);
      }
      await this.context.delay(pauseMs, AbortSignal.any([member.signal, this.#pauseEnd.signal]));
    }
  }

  async #heartbeat(member: ConsumerMemberState, onFirst: () => void): Promise<number> {
    const { group, connection, status } = this.context;
    const { signal, identity } = member;
    const sentAt = connection.cluster.runtime.monotonic();
    const answer = await group.consumerHeartbeat(identity, this.#owned, { signal });
    member.advanceTo(answer.epoch, sentAt);
    status.recovered('group');
    const isFirst = identity.generation < 0;
    // A closing member revokes all partitions and ignores every new assignment.
    if (!signal.aborted && !this.#isClosing) this.#reconcile(answer, member, isFirst, onFirst);
    return answer.intervalMs;
  }

  #handleError(member: ConsumerMemberState, error: unknown, backoff: Backoff): number {
    if (isRefusal(error, 'UNKNOWN_MEMBER_ID', 'FENCED_MEMBER_EPOCH', 'FENCED_INSTANCE_ID'))
      member.onFenced(error);
    const shown = toBrokerError(error);
    if (!member.signal.aborted) this.context.status.retrying('group', shown);
    return isRetriable(shown) ? backoff.next() : SLOW_RETRY_MS;
  }

  #reconcile(
    { assignment }: ConsumerHeartbeatResponse,
    member: ConsumerMemberState,
    isFirst: boolean,
    onFirst: () => void,
  ): void {
    const [owned, wanted] = [
      new Set(this.#owned.map(partitionName)),
      new Set(assignment.map(partitionName)),
    ];
    const added = assignment.filter((each) => !owned.has(partitionName(each)));
    const going = this.#owned.filter(
      (each) => !wanted.has(partitionName(each)) && !this.#revoking.has(partitionName(each)),
    );
    if (going.length > 0) {
      this.context.status.joining();
      const done = this.#revoke(going, member);
      for (const each of going) this.#revoking.set(partitionName(each), done);
    }
    if (added.length > 0 || isFirst) void this.#assign(added, member).then(onFirst);
    else this.#reportStable(member);
  }

  async #assign(added: readonly TopicPartition[], member: ConsumerMemberState): Promise<void> {
    this.context.status.joining();
    this.#assigning += 1;
    await this.context.lifecycle.assign(added);
    this.#assigning -= 1;
    this.#reportStable(member);
  }

  #reportStable({ identity, signal }: ConsumerMemberState): void {
    if (this.#assigning > 0 || this.#revoking.size > 0 || signal.aborted || this.#isClosing) return;
    this.context.status.stable(identity.generation);
  }

  async #revoke(going: readonly TopicPartition[], member: ConsumerMemberState): Promise<void> {
    const end = await this.#revokeInTime(going, member);
    if (end !== undefined && !(end instanceof Error)) return;
    for (const each of going) this.#revoking.delete(partitionName(each));
    if (end) await this.#losePartitions(going, end);
    else this.context.lifecycle.release(going);
    this.#pauseEnd.abort(new Error('There is something to say.'));
  }

  async #revokeAll(member: ConsumerMemberState): Promise<MembershipLoss | undefined> {
    const staying = this.#owned.filter((each) => !this.#revoking.has(partitionName(each)));
    const [end] = await Promise.all([
      this.#revokeInTime(staying, member),
      Promise.race([Promise.all(this.#revoking.values()), member.lost]),
    ]);
    if (end instanceof Error) await this.#losePartitions(staying, end);
    else if (end) return end;
    this.context.lifecycle.release(this.#owned);
    return undefined;
  }

  /**
   * Revokes partitions while heartbeats continue. Returns the error if the time limit or the
   * membership ends before the revocation.
   */
  #revokeInTime(
    partitions: readonly TopicPartition[],
    member: ConsumerMemberState,
  ): Promise<Error | MembershipLoss | undefined> {
    const { rebalanceTimeoutMs } = this.options;
    const late = (): Error => revocationTimedOutError(partitions, rebalanceTimeoutMs);
    const returned = within(
      this.context.connection.cluster.runtime,
      rebalanceTimeoutMs * REVOCATION_SHARE,
      this.context.lifecycle.revoke(partitions),
      late,
    ).then(
      () => undefined,
      (error: Error) => error,
    );
    return Promise.race([returned, member.lost]);
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

  async #onLost(
    member: ConsumerMemberState,
    { error, forgetId, isFinal }: MembershipLoss,
  ): Promise<void> {
    member.stop();
    this.#revoking.clear();
    await this.#losePartitions(this.#owned, error);
    if (forgetId || isFinal) this.#member = undefined;
    if (isFinal) this.context.fail(error);
    if (!this.#isClosing) await this.#leaveForCertain();
  }

  /**
   * Repeats the leave until the group answers or the session has expired: until then, the old
   * membership keeps its partitions from the next one.
   */
  async #leaveForCertain(): Promise<void> {
    const { memberId } = this.#member?.identity ?? {};
    if (memberId === undefined) return;
    const { group, status, connection } = this.context;
    const { runtime, groups } = connection.cluster;
    const backoff = new Backoff(runtime, { initialMs: 50, maxMs: 2_000 });
    const expiresAt = runtime.monotonic() + groups.consumerSessionTimeoutMs;
    while (!this.#isClosing && runtime.monotonic() < expiresAt) {
      const error = await group
        .leave(memberId, LEAVE_TIMEOUT_MS)
        .then(() => undefined, toBrokerError);
      if (!isRetriable(error)) break;
      status.retrying('group', error as Error);
      const remainingMs = Math.max(0, expiresAt - runtime.monotonic());
      await this.context.delay(Math.min(backoff.next(), remainingMs), this.#closing.signal);
    }
    // A session that closes meanwhile leaves once more at its end.
    if (!this.#isClosing) this.#member = undefined;
  }
}
