import type { DriverLogger } from '../../../port/driver.js';
import { ConnectionError, RequestTimeoutError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { partitionKey } from '../../../port/topic-partition.js';
import {
  reactionTo,
  type ConsumerHeartbeatFields,
  type ConsumerHeartbeatResponse,
  type TopicIdPartitions,
  type ClusterClient,
} from '../../../wire/index.js';
import { AssignedTopics } from './assigned-topics.js';
import { groupError, type GroupSettings } from '../group-error.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { MemberPartitions } from '../member-partitions.js';
import type { AssignmentCallbacks } from '../assignment-callbacks.js';
import { SessionDeadline } from './session-deadline.js';
import type { MemberStatus } from '../member-status.js';
import {
  type GroupMember,
  type MemberSnapshot,
  type MembershipLoss,
  isSameGeneration,
  notAMember,
} from '../membership.js';
import { missingTopicError, missingTopics } from '../topics/partition-counts.js';
import { PartitionHandover } from '../partition-handover.js';
import { ConsumerHeartbeat } from './consumer-heartbeat.js';
import { OneTimeEvent } from '../one-time-event.js';

export interface ConsumerGroupMemberOptions {
  readonly cluster: ClusterClient;
  readonly coordinator: GroupCoordinator;
  readonly settings: GroupSettings & {
    readonly topics: readonly string[];
    readonly rebalanceTimeoutMs: number;
  };
  readonly callbacks: AssignmentCallbacks;
  readonly status: MemberStatus;
  readonly logger: DriverLogger;
}

/**
 * A membership of the consumer protocol (KIP-848) under one member id, from the first heartbeat
 * until all partitions are lost or revoked.
 */
export class ConsumerGroupMember implements GroupMember {
  readonly memberId: string;
  snapshot: MemberSnapshot;
  readonly #partitions = new MemberPartitions();
  readonly #options: ConsumerGroupMemberOptions;
  readonly #heartbeat: ConsumerHeartbeat;
  readonly #sessionDeadline: SessionDeadline;
  readonly #handover: PartitionHandover;
  readonly #topics: AssignedTopics;
  readonly #loss = new OneTimeEvent<MembershipLoss>();
  /**
   * Partitions that are being revoked. The member still owns them, and its heartbeats still contain
   * them.
   */
  readonly #revoking = new Map<string, Promise<void>>();
  /** The number of `onAssigned` calls that are running. */
  #assigning = 0;
  #topicsAreMissing = false;
  #hasJoined = false;
  /** True while all partitions are being revoked. New assignments are ignored from then on. */
  #isClosing = false;
  #isEnding = false;

  constructor(options: ConsumerGroupMemberOptions) {
    this.#options = options;
    const { cluster, coordinator, settings, status, logger, callbacks } = options;
    const { groupId, topics, rebalanceTimeoutMs } = settings;
    const { runtime } = cluster;
    this.memberId = runtime.uuid();
    this.snapshot = notAMember(groupId, 'consumer');
    this.#topics = new AssignedTopics(cluster.metadata, topics);
    this.#sessionDeadline = new SessionDeadline(cluster, groupId, (sessionMs) =>
      this.#onSessionExpired(sessionMs),
    );
    this.#heartbeat = new ConsumerHeartbeat({
      coordinator,
      settings,
      memberId: this.memberId,
      claim: () => this.#claim(),
      timeoutMs: () => Math.ceil(this.#sessionDeadline.sessionMs / 3),
      onAnswer: (answer, sentAt) => this.#onAnswer(answer, sentAt),
      onError: (error) => status.retrying(error),
    });
    const loss = this.#loss;
    const member = { loss, stableAt: undefined, loseAll: () => this.#partitions.clear() };
    const common = { runtime, status, logger, callbacks };
    this.#handover = new PartitionHandover({ ...common, member, groupId, rebalanceTimeoutMs });
  }

  /** Session timeout of the broker. */
  get sessionMs(): number {
    return this.#sessionDeadline.sessionMs;
  }

  get leaseUntil(): number {
    return this.#isEnding ? -Infinity : this.#sessionDeadline.expiresAt;
  }

  get hasJoined(): boolean {
    return this.#hasJoined;
  }

  get partitions(): readonly TopicPartition[] {
    return this.#partitions.partitions;
  }

  owns(partition: TopicPartition, { memberId, generation }: MemberSnapshot): boolean {
    return (
      this.snapshot.memberId === memberId && this.#partitions.ownedSince(partition, generation)
    );
  }

  /**
   * Returns false. The broker reports an old epoch with its own error code, after which the commit
   * is retried with the new epoch.
   */
  mayHaveNewGeneration(): boolean {
    return false;
  }

  reportExpelled(snapshot: MemberSnapshot, code: number): void {
    if (!isSameGeneration(this.snapshot, snapshot)) return;
    const error = groupError(code, 'a commit was not accepted', this.#options.settings);
    const isFinal = reactionTo('consumerHeartbeat', code) === 'refuse';
    this.#loss.fire({ kind: 'lost', next: isFinal ? 'fail' : 'rejoin-as-new', error });
  }

  /** Resolves when all partitions are lost, or when they are revoked after the signal aborted. */
  async run(closing: AbortSignal): Promise<MembershipLoss | 'closed'> {
    const ended = new AbortController();
    const heartbeats = this.#runHeartbeats(ended.signal);
    const closed = whenAborted(closing, ended.signal);
    const loss = (await this.#loss.raceWith(closed)) ?? (await this.#revokeAll());
    this.#isEnding = true;
    ended.abort(new ConnectionError('The membership has ended.'));
    this.#sessionDeadline.stop();
    if (loss) await this.#lose(loss);
    await heartbeats;
    return loss ?? 'closed';
  }

  async #runHeartbeats(signal: AbortSignal): Promise<void> {
    try {
      this.#loss.fire(await this.#heartbeat.run(signal));
    } catch (error) {
      if (signal.aborted) return;
      this.#loss.fire({ kind: 'lost', next: 'rejoin', error: error as Error });
    }
  }

  #claim(): ConsumerHeartbeatFields {
    const { topics, rebalanceTimeoutMs } = this.#options.settings;
    return { topics, rebalanceTimeoutMs, owned: this.#topics.toShares(this.partitions) };
  }

  #onAnswer({ epoch, assignment }: ConsumerHeartbeatResponse, sentAt: number): void {
    if (this.#isEnding) return;
    const { groupId, groupInstanceId } = this.#options.settings;
    const { memberId } = this;
    const isFirst = !this.#hasJoined;
    this.#hasJoined = true;
    if (epoch !== this.snapshot.generation)
      this.snapshot = {
        groupId,
        memberId,
        generation: epoch,
        groupInstanceId,
        protocol: 'consumer',
      };
    this.#sessionDeadline.extend(sentAt);
    if (!this.#isClosing) {
      if (assignment) this.#reconcile(assignment, isFirst);
      else if (isFirst) void this.#assign([]);
    }
    if (this.#topicsAreMissing) void this.#checkTopics();
    this.#reportStable();
  }

  /**
   * Applies the target assignment. Removed partitions are revoked first, because the broker assigns
   * more only after a heartbeat has shown their release.
   */
  #reconcile(shares: readonly TopicIdPartitions[], isFirst: boolean): void {
    const { partitions, unknown } = this.#topics.toPartitions(shares);
    if (unknown.length > 0) void this.#refreshTopicIds(unknown);
    const { added, removed } = this.#partitions.compare(partitions);
    // An unknown id may belong to an owned topic that was recreated, so nothing is revoked until
    // its name is known.
    const toRevoke =
      unknown.length > 0 ? [] : removed.filter((each) => !this.#revoking.has(partitionKey(each)));
    this.#partitions.add(added, this.snapshot.generation);
    if (toRevoke.length > 0) this.#startRevocation(toRevoke);
    if (added.length > 0 || isFirst) void this.#assign(added);
  }

  async #assign(added: readonly TopicPartition[]): Promise<void> {
    const { groupId } = this.#options.settings;
    const { generation } = this.snapshot;
    const { logger, callbacks } = this.#options;
    logger.info('The group assigned partitions.', {
      groupId,
      generation,
      partitions: added.length,
    });
    this.#options.status.joining();
    this.#assigning++;
    const isNotified = await callbacks.assign(added, generation);
    this.#assigning--;
    if (isNotified) this.#reportStable();
  }

  #startRevocation(partitions: readonly TopicPartition[]): void {
    this.#options.status.joining();
    const done = this.#revoke(partitions);
    for (const partition of partitions) this.#revoking.set(partitionKey(partition), done);
  }

  async #revoke(partitions: readonly TopicPartition[]): Promise<void> {
    const end = await this.#handover.revoke(partitions, 'rejoin');
    if (end?.kind === 'lost') return;
    this.#partitions.remove(partitions);
    for (const partition of partitions) this.#revoking.delete(partitionKey(partition));
    this.#heartbeat.wake();
    if (end) await this.#handover.lose(partitions, end.error);
    if (this.#partitions.size === 0) await this.#checkTopics();
  }

  /** Returns the loss that ended the revocation, if any. */
  async #revokeAll(): Promise<MembershipLoss | undefined> {
    this.#isClosing = true;
    const remaining = this.partitions.filter(
      (partition) => !this.#revoking.has(partitionKey(partition)),
    );
    const revoked = this.#handover.revoke(remaining, 'closing');
    const [end] = await Promise.all([
      revoked,
      this.#loss.raceWith(Promise.all(this.#revoking.values())),
    ]);
    if (end?.kind === 'lost') return end;
    if (end) return { kind: 'lost', next: 'rejoin', error: end.error };
    this.#partitions.clear();
    return undefined;
  }

  async #lose({ error }: MembershipLoss): Promise<void> {
    const { callbacks, logger, settings } = this.#options;
    this.snapshot = notAMember(settings.groupId, 'consumer');
    const partitions = this.#partitions.clear();
    if (this.#hasJoined)
      logger.warn('The membership was lost.', { groupId: settings.groupId, error });
    await callbacks.lose(partitions);
  }

  #onSessionExpired(sessionMs: number): void {
    const { groupId } = this.#options.settings;
    const error = new RequestTimeoutError(
      `Group "${groupId}": no heartbeat was answered for ${sessionMs} ms (group.consumer.session.timeout.ms of the broker), so the group has removed this member. It joins again; look for a blocked event loop, a suspended process or a slow network.`,
    );
    this.#loss.fire({ kind: 'lost', next: 'rejoin', error });
  }

  #reportStable(): void {
    const isSettled = this.#assigning === 0 && this.#revoking.size === 0;
    if (isSettled && this.#hasJoined && !this.#isEnding && !this.#topicsAreMissing)
      this.#options.status.stable(this.snapshot.generation);
  }

  /**
   * Refreshes the metadata. The next heartbeat response contains the same topic ids, which can then
   * be translated.
   */
  async #refreshTopicIds(unknown: readonly string[]): Promise<void> {
    const { cluster, settings, logger } = this.#options;
    try {
      await cluster.metadata.refresh(settings.topics);
      const known = settings.topics.map((topic) => cluster.metadata.topic(topic)?.id);
      if (unknown.some((id) => known.includes(id))) this.#heartbeat.wake();
    } catch (error) {
      logger.debug(
        'The topics of the group could not be looked up and are looked up again later.',
        { error },
      );
    }
  }

  /**
   * Reports deleted topics. The broker revokes their partitions without a reason, so a member
   * without partitions checks whether its topics exist.
   */
  async #checkTopics(): Promise<void> {
    const { cluster, settings, status, logger } = this.#options;
    try {
      await cluster.metadata.refresh(settings.topics);
    } catch (error) {
      return logger.debug('The topics of the group could not be looked up.', { error });
    }
    const [first, ...others] = missingTopics(cluster.metadata, settings.topics);
    this.#topicsAreMissing =
      first !== undefined && others.length + 1 === settings.topics.length && !this.#isEnding;
    if (this.#topicsAreMissing && first !== undefined)
      status.retrying(missingTopicError(cluster.metadata, first));
  }
}

/**
 * Resolves when the signal aborts. The listener is removed when `until` aborts, because the first
 * signal is used by many memberships.
 */
function whenAborted(signal: AbortSignal, until: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true, signal: until });
  });
}
