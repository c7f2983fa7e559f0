import type { PreviousAssignment } from '../../../assignment/index.js';
import type { AssignorName } from '../../../port/consumer.js';
import type { DriverLogger } from '../../../port/driver.js';
import { ConnectionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { Deferred, sleep } from '../../../runtime/index.js';
import { withEitherSignal } from '../either-signal.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { GroupJoiner, type GroupJoinOutcome } from './group-joiner.js';
import { AssignmentCallbacks } from '../assignment-callbacks.js';
import type { AcceptedJoin, MemberClaim, JoinedGroup } from './join-attempt.js';
import { joinChannel } from '../group-channels.js';
import type { LeaderAssignment } from './leader-assignment.js';
import { leaveGroup } from '../leave-group.js';
import { MemberStatus } from '../member-status.js';
import type { Membership, MembershipListener, MembershipLoss } from '../membership.js';
import { PartitionHandover, type RevocationReason } from '../partition-handover.js';
import { ClassicMemberState } from './classic-member-state.js';
import type { MemberGeneration } from './member-generation.js';
import { TopicWatch } from '../topics/topic-watch.js';
import type { ClusterClient } from '../../../wire/index.js';

export interface ClassicMembershipOptions {
  readonly cluster: ClusterClient;
  readonly coordinator: GroupCoordinator;
  readonly sessionId: string;
  readonly groupId: string;
  /** Null for a dynamic member. */
  readonly groupInstanceId: string | null;
  readonly topics: readonly string[];
  readonly assignors: readonly AssignorName[];
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly listener: MembershipListener;
  readonly logger: DriverLogger;
  /**
   * The interval at which the leader looks for changed topics. While a topic is missing, the
   * interval is at most 5 s. Default 60 s.
   */
  readonly metadataRefreshMs?: number;
}

const METADATA_REFRESH_MS = 60_000;
/** The delay before the membership is restarted after an unexpected error. */
const RESTART_AFTER_MS = 5_000;

/**
 * Membership by the classic protocol. Eager:
 *
 *   joining ── joined ──▶ generation (onAssigned) ── rebalance, rejoin ──▶ onRevoked ──▶ joining
 *      ▲                     │                            └─ closing ──▶ onRevoked ──▶ leave
 *      └────── onLost ◀──────┴── lost: expelled, session expired, revoked too late
 *
 * Cooperative, once the member owns partitions: a rebalance leads back to `joining` at once, while
 * heartbeats and owned partitions stay. The new assignment shows which partitions are removed. Only
 * these are revoked, and the member joins again without them. If the group chooses an eager
 * assignor meanwhile, the owned partitions are lost, because its leader reassigns them without
 * asking.
 *
 * One loop runs the membership. Every error ends in a retry or in the status `failed`.
 */
export class ClassicMembership implements Membership {
  readonly member: ClassicMemberState;
  readonly #options: ClassicMembershipOptions;
  readonly #status: MemberStatus;
  readonly #joiner: GroupJoiner;
  readonly #callbacks: AssignmentCallbacks;
  readonly #handover: PartitionHandover;
  readonly #stop = new AbortController();
  /** The last assignment, even if its partitions were lost or revoked since. */
  #previous: PreviousAssignment | null = null;
  #lossToEager: Promise<void> | undefined;
  #settled = new Deferred();
  #running: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ClassicMembershipOptions) {
    this.#options = options;
    const { cluster, coordinator, sessionId, listener, logger } = options;
    const { runtime } = cluster;
    const status = new MemberStatus(runtime, (each) => listener.onStatus(each), logger);
    this.#status = status;
    this.#callbacks = new AssignmentCallbacks({ ...options, runtime, status });
    this.member = new ClassicMemberState({ coordinator, settings: options, status });
    const { member } = this;
    const callbacks = this.#callbacks;
    this.#handover = new PartitionHandover({ ...options, member, callbacks, runtime, status });
    this.#joiner = new GroupJoiner({
      cluster,
      coordinator,
      channel: joinChannel(sessionId),
      settings: options,
      logger,
      status,
      onJoining: () => this.#onJoining(),
      onJoinAccepted: (accepted) => this.#onJoinAccepted(accepted),
    });
  }

  get assignment(): readonly TopicPartition[] {
    return this.member.partitions.partitions;
  }

  whenSettled(): Promise<void> {
    return this.#settled.promise;
  }

  start(): void {
    if (!this.#closed) this.#running ??= this.#run();
  }

  /**
   * Requests a rebalance because topics or partitions have changed. Has no effect during a join.
   */
  rejoin(reason: string): void {
    const { groupId, logger } = this.#options;
    logger.info('Joining the group again.', { groupId, reason });
    this.member.generation?.end.resolve({ kind: 'ended', reason: 'rejoin' });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #run(): Promise<void> {
    let shouldContinue = true;
    while (shouldContinue && !this.#isClosing) {
      try {
        shouldContinue = await this.#runGeneration();
      } catch (error) {
        shouldContinue = !this.#isClosing && (await this.#waitToRestart(error as Error));
      }
    }
    // If the session closes during a cooperative rebalance, no SyncGroup follows, so the commits
    // that wait for it are released here.
    this.#settled.resolve();
    if (this.member.partitions.size > 0) await this.#revokeAll('closing');
    this.member.stopHeartbeat();
    this.#settled.resolve();
  }

  /**
   * Runs one generation, from the join to its end. Returns false if no other generation may follow.
   */
  async #runGeneration(): Promise<boolean> {
    this.#status.joining();
    if (this.member.partitions.size === 0) this.member.endGeneration();
    const outcome = await this.#join();
    if (outcome.kind === 'lost') return this.#lose(outcome);
    return !this.#isClosing && this.#applyAssignment(outcome.joined);
  }

  /** Joins the group. Owned partitions can be lost during the join. */
  async #join(): Promise<GroupJoinOutcome> {
    const member = this.member;
    // Releases the commits that wait for SyncGroup, because the join was cancelled.
    this.#settled.resolve();
    this.#settled = new Deferred();
    member.isJoining = true;
    const giveUp = new AbortController();
    const joining = withEitherSignal(this.#stop.signal, giveUp.signal, (until) =>
      this.#joiner.join(() => this.#claim(), until),
    );
    try {
      return await (member.partitions.size > 0 ? member.loss.raceWith(joining) : joining);
    } finally {
      member.isJoining = false;
      giveUp.abort(new ConnectionError('The join was cancelled.'));
      await joining.catch(() => undefined);
    }
  }

  /**
   * Returns the claim for the next join, with the generation of the last SyncGroup. A join without
   * SyncGroup has confirmed no assignment.
   */
  #claim(): MemberClaim {
    const previous = this.#previous;
    const { size, partitions } = this.member.partitions;
    const held = size === 0 || !previous ? null : { ...previous, partitions };
    return { previous, held };
  }

  #onJoining(): void {
    if (this.member.partitions.size === 0) this.member.stopHeartbeat();
  }

  /**
   * Runs between JoinGroup and SyncGroup. The generation of a member without partitions begins
   * after SyncGroup.
   */
  #onJoinAccepted(accepted: AcceptedJoin): void {
    if (this.member.partitions.size === 0) return;
    if (accepted.cooperative) this.member.beginGeneration(accepted);
    else this.#lossToEager = this.#handover.loseToEagerAssignor(accepted.protocol);
  }

  async #applyAssignment(joined: JoinedGroup): Promise<boolean> {
    const { groupId, logger } = this.#options;
    const { partitions: owned } = this.member;
    const { generation, protocol, partitions, leaderAssignment } = joined;
    const count = partitions.length;
    logger.info('Joined the group.', { groupId, generation, protocol, partitions: count });
    const keepsPartitions = owned.size > 0;
    const current =
      (keepsPartitions && this.member.generation) || this.member.beginGeneration(joined);
    this.member.renewLease(joined.sentAt);
    const { added, removed } = owned.compare(partitions);
    this.#previous = { partitions, generation };
    const watch = leaderAssignment && this.#watchTopics(leaderAssignment);
    watch?.start();
    this.#settled.resolve();
    try {
      await this.#lossToEager;
      if (removed.length > 0) return await this.#revokeRemoved(removed, added, current);
      owned.add(added, generation);
      void this.#assign(current, added, keepsPartitions);
      return await this.#waitForGenerationEnd(current);
    } finally {
      watch?.stop();
    }
  }

  async #waitForGenerationEnd(current: MemberGeneration): Promise<boolean> {
    const end = await this.member.loss.raceWith(current.end.promise);
    current.isOver = true;
    if (end.kind === 'lost') return this.#lose(end);
    if (end.reason !== 'closing') {
      this.#status.joining();
      if (current.cooperative) return true;
    }
    return this.#revokeAll(end.reason);
  }

  /**
   * Revokes the removed partitions. When the member then joins without them, the second rebalance
   * of the cooperative protocol begins.
   */
  async #revokeRemoved(
    removed: readonly TopicPartition[],
    added: readonly TopicPartition[],
    current: MemberGeneration,
  ): Promise<boolean> {
    current.isOver = true;
    const end = await this.#handover.revoke(removed, 'rejoin');
    if (end?.kind === 'lost') return this.#lose(end);
    const { partitions: owned } = this.member;
    owned.remove(removed);
    if (end?.kind === 'timed-out') await this.#handover.lose(removed, end.error);
    if (this.#isClosing) return false;
    owned.add(added, current.snapshot.generation);
    void this.#assign(current, added, true);
    return true;
  }

  async #assign(
    current: MemberGeneration,
    added: readonly TopicPartition[],
    keepsPartitions: boolean,
  ): Promise<void> {
    const { generation } = current.snapshot;
    const isNotified =
      (keepsPartitions && added.length === 0) || (await this.#callbacks.assign(added, generation));
    current.isAssigned = true;
    if (isNotified && !current.isOver) this.#status.stable(generation);
  }

  async #revokeAll(reason: RevocationReason): Promise<boolean> {
    const { partitions: owned } = this.member;
    const end = await this.#handover.revoke(owned.partitions, reason);
    if (end?.kind === 'lost') return this.#lose(end);
    if (!end) {
      owned.clear();
      return true;
    }
    this.#status.retrying(end.error);
    return this.#lose({ kind: 'lost', next: 'rejoin', error: end.error });
  }

  async #lose({ next, error }: MembershipLoss): Promise<boolean> {
    const { groupId, logger } = this.#options;
    const partitions = this.#loseAll();
    if (next === 'rejoin-as-new') this.#joiner.memberId = '';
    logger.warn('The membership was lost.', { groupId, error });
    await this.#callbacks.lose(partitions);
    return next === 'fail' ? this.#fail(error) : true;
  }

  /** Loses all partitions, and releases the commits that wait for the next generation. */
  #loseAll(): readonly TopicPartition[] {
    const partitions = this.member.loseAll();
    this.#settled.resolve();
    return partitions;
  }

  #watchTopics({ topics, counts }: LeaderAssignment): TopicWatch {
    const { cluster, logger, metadataRefreshMs = METADATA_REFRESH_MS } = this.#options;
    return new TopicWatch({
      cluster,
      topics,
      counts,
      refreshMs: metadataRefreshMs,
      logger,
      onChange: (reason) => this.rejoin(reason),
    });
  }

  #fail(error: Error): false {
    this.#options.logger.error('The membership has failed and is not restarted.', { error });
    this.#status.failed(error);
    return false;
  }

  /**
   * Returns false if the membership must not restart: the session closes, or the wait has failed
   * and the loop would retry without a pause.
   */
  async #waitToRestart(error: Error): Promise<boolean> {
    const { cluster, logger } = this.#options;
    logger.error('The membership failed with an unexpected error and is restarted.', { error });
    this.#status.retrying(error);
    await this.#callbacks.lose(this.#loseAll());
    try {
      await sleep(cluster.runtime, RESTART_AFTER_MS, this.#stop.signal);
      return true;
    } catch (sleepError) {
      return !this.#isClosing && this.#fail(sleepError as Error);
    }
  }

  get #isClosing(): boolean {
    return this.#stop.signal.aborted;
  }

  async #close(): Promise<void> {
    const { cluster, coordinator, sessionId, groupInstanceId, logger } = this.#options;
    const reason = new ConnectionError('The session is closed.');
    this.#stop.abort(reason);
    this.member.generation?.end.resolve({ kind: 'ended', reason: 'closing' });
    await this.#running;
    this.member.stopHeartbeat();
    // A static member does not leave: the group keeps its partitions until its session expires,
    // because the member may restart.
    if (groupInstanceId === null) await leaveGroup(coordinator, this.#joiner.memberId, logger);
    cluster.closeChannel(joinChannel(sessionId), reason);
    coordinator.close();
    this.#settled.resolve();
  }
}
