import type { DriverLogger } from '../../../port/driver.js';
import { ConnectionError, RequestTimeoutError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import {
  reactionTo,
  type ConsumerClaim,
  type ConsumerHeartbeatAnswer,
  type TopicShare,
} from '../../../wire/index.js';
import { AssignedTopics } from '../assigned-topics.js';
import { groupError, type GroupSettings } from '../group-advice.js';
import type { GroupCluster } from '../group-cluster.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import type { Loss } from '../classic/classic-heartbeat.js';
import { Holding } from '../owned-partitions.js';
import type { HostCalls } from '../assignment-callbacks.js';
import { Lease } from '../session-deadline.js';
import type { MemberStatus } from '../member-status.js';
import type { MemberSnapshot } from '../membership.js';
import { missingTopicError, missingTopics } from '../partition-counts.js';
import { Parting } from '../partition-handover.js';
import { Pulse } from './consumer-heartbeat.js';
import { isSame, keyOf, noMember } from '../classic/generation.js';
import { TurningPoint } from '../one-time-event.js';

export interface ConsumerLifeOptions {
  readonly cluster: GroupCluster;
  readonly coordinator: GroupCoordinator;
  readonly settings: GroupSettings & {
    readonly topics: readonly string[];
    readonly rebalanceTimeoutMs: number;
  };
  readonly calls: HostCalls;
  readonly status: MemberStatus;
  readonly logger: DriverLogger;
}

/** One membership by KIP-848, under one member id, from the first heartbeat until all is lost or handed back. */
export class ConsumerLife {
  readonly memberId: string;
  readonly #holding = new Holding();
  readonly #options: ConsumerLifeOptions;
  readonly #pulse: Pulse;
  readonly #lease: Lease;
  readonly #parting: Parting;
  readonly #assigned: AssignedTopics;
  readonly #loss = new TurningPoint<Loss>();
  /** Being handed back: still ours, and still claimed. */
  readonly #leaving = new Map<string, Promise<void>>();
  #snapshot: MemberSnapshot;
  /** How many calls of `onAssigned` are under way. */
  #assigning = 0;
  #topicsAreMissing = false;
  #hasJoined = false;
  /** All is being handed back: what the group plans for us from now on is of no interest. */
  #isClosing = false;
  #isEnding = false;

  constructor(options: ConsumerLifeOptions) {
    this.#options = options;
    const { cluster, coordinator, settings, status, logger, calls } = options;
    const { groupId, topics, rebalanceTimeoutMs } = settings;
    const { runtime } = cluster;
    this.memberId = runtime.uuid();
    this.#snapshot = noMember(groupId, 'consumer');
    this.#assigned = new AssignedTopics(cluster.metadata, topics);
    this.#lease = new Lease(cluster, groupId, (sessionMs) => this.#outlived(sessionMs));
    this.#pulse = new Pulse({
      coordinator,
      settings,
      memberId: this.memberId,
      claim: () => this.#claim(),
      timeoutMs: () => Math.ceil(this.#lease.sessionMs / 3),
      onAnswer: (answer, sentAt) => this.#onAnswer(answer, sentAt),
      onTrouble: (error) => status.retrying(error),
    });
    const loss = this.#loss;
    const standing = { loss, stableAt: undefined, forfeit: () => this.#holding.clear() };
    const common = { runtime, status, logger, calls };
    this.#parting = new Parting({ ...common, standing, groupId, rebalanceTimeoutMs });
  }

  get snapshot(): MemberSnapshot {
    return this.#snapshot;
  }

  get hasJoined(): boolean {
    return this.#hasJoined;
  }

  get partitions(): readonly TopicPartition[] {
    return this.#holding.partitions;
  }

  owns(partition: TopicPartition, { memberId, generation }: MemberSnapshot): boolean {
    return this.#snapshot.memberId === memberId && this.#holding.hasSince(partition, generation);
  }

  expelled(snapshot: MemberSnapshot, code: number): void {
    if (!isSame(this.#snapshot, snapshot)) return;
    const error = groupError(code, 'a commit was not accepted', this.#options.settings);
    const isFinal = reactionTo('consumerHeartbeat', code) === 'refuse';
    this.#loss.happen({ kind: 'lost', next: isFinal ? 'fail' : 'rejoin-as-new', error });
  }

  /** Ends when everything is lost, or was handed back because of the signal. */
  async run(closing: AbortSignal): Promise<Loss | 'closed'> {
    const over = new AbortController();
    const beats = this.#beat(over.signal);
    const closed = whenAborted(closing, over.signal);
    const loss = (await this.#loss.or(closed)) ?? (await this.#handBackAll());
    this.#isEnding = true;
    over.abort(new ConnectionError('The membership has ended.'));
    this.#lease.end();
    if (loss) await this.#lose(loss);
    await beats;
    return loss ?? 'closed';
  }

  async #beat(signal: AbortSignal): Promise<void> {
    try {
      this.#loss.happen(await this.#pulse.run(signal));
    } catch (error) {
      if (signal.aborted) return;
      this.#loss.happen({ kind: 'lost', next: 'rejoin', error: error as Error });
    }
  }

  #claim(): ConsumerClaim {
    const { topics, rebalanceTimeoutMs } = this.#options.settings;
    return { topics, rebalanceTimeoutMs, owned: this.#assigned.shares(this.partitions) };
  }

  #onAnswer({ epoch, assignment }: ConsumerHeartbeatAnswer, sentAt: number): void {
    if (this.#isEnding) return;
    const { groupId, groupInstanceId } = this.#options.settings;
    const { memberId } = this;
    const isFirst = !this.#hasJoined;
    this.#hasJoined = true;
    if (epoch !== this.#snapshot.generation)
      this.#snapshot = {
        groupId,
        memberId,
        generation: epoch,
        groupInstanceId,
        protocol: 'consumer',
      };
    this.#lease.renew(sentAt);
    if (!this.#isClosing) {
      if (assignment) this.#reconcile(assignment, isFirst);
      else if (isFirst) void this.#assign([]);
    }
    if (this.#topicsAreMissing) void this.#lookForTopics();
    this.#tellStable();
  }

  /** What is to go goes first: the broker gives more once it has heard that we let go. */
  #reconcile(shares: readonly TopicShare[], isFirst: boolean): void {
    const { partitions, unknown } = this.#assigned.named(shares);
    if (unknown.length > 0) void this.#learn(unknown);
    const { added, gone } = this.#holding.compare(partitions);
    // What stands behind an unknown id may be what we have, in a topic that was created again.
    const going = unknown.length > 0 ? [] : gone.filter((each) => !this.#leaving.has(keyOf(each)));
    this.#holding.add(added, this.#snapshot.generation);
    if (going.length > 0) this.#handBack(going);
    if (added.length > 0 || isFirst) void this.#assign(added);
  }

  async #assign(added: readonly TopicPartition[]): Promise<void> {
    const { groupId } = this.#options.settings;
    const { generation } = this.#snapshot;
    const { logger, calls } = this.#options;
    logger.info('The group assigned partitions.', {
      groupId,
      generation,
      partitions: added.length,
    });
    this.#options.status.joining();
    this.#assigning++;
    const told = await calls.assign(added, generation);
    this.#assigning--;
    if (told) this.#tellStable();
  }

  #handBack(partitions: readonly TopicPartition[]): void {
    this.#options.status.joining();
    const done = this.#letGo(partitions);
    for (const partition of partitions) this.#leaving.set(keyOf(partition), done);
  }

  async #letGo(partitions: readonly TopicPartition[]): Promise<void> {
    const end = await this.#parting.handBack(partitions, 'rejoin');
    if (end?.kind === 'lost') return;
    this.#holding.drop(partitions);
    for (const partition of partitions) this.#leaving.delete(keyOf(partition));
    this.#pulse.wake();
    if (end) await this.#parting.lose(partitions, end.error);
    if (this.#holding.size === 0) await this.#lookForTopics();
  }

  /** Gives why it did not work out. */
  async #handBackAll(): Promise<Loss | undefined> {
    this.#isClosing = true;
    const staying = this.partitions.filter((partition) => !this.#leaving.has(keyOf(partition)));
    const handedBack = this.#parting.handBack(staying, 'closing');
    const [end] = await Promise.all([
      handedBack,
      this.#loss.or(Promise.all(this.#leaving.values())),
    ]);
    if (end?.kind === 'lost') return end;
    if (end) return { kind: 'lost', next: 'rejoin', error: end.error };
    this.#holding.clear();
    return undefined;
  }

  async #lose({ error }: Loss): Promise<void> {
    const { calls, logger, settings } = this.#options;
    this.#snapshot = noMember(settings.groupId, 'consumer');
    const partitions = this.#holding.clear();
    if (this.#hasJoined)
      logger.warn('The membership was lost.', { groupId: settings.groupId, error });
    await calls.lose(partitions);
  }

  #outlived(sessionMs: number): void {
    const { groupId } = this.#options.settings;
    const error = new RequestTimeoutError(
      `Group "${groupId}": no heartbeat was answered for ${sessionMs} ms (group.consumer.session.timeout.ms of the broker), so the group counts this member out.`,
    );
    this.#loss.happen({ kind: 'lost', next: 'rejoin', error });
  }

  #tellStable(): void {
    const isSettled = this.#assigning === 0 && this.#leaving.size === 0;
    if (isSettled && this.#hasJoined && !this.#isEnding && !this.#topicsAreMissing)
      this.#options.status.stable(this.#snapshot.generation);
  }

  /** The next heartbeat is answered with the same ids, which mean something then. */
  async #learn(unknown: readonly string[]): Promise<void> {
    const { cluster, settings, logger } = this.#options;
    try {
      await cluster.metadata.refresh(settings.topics);
      const known = settings.topics.map((topic) => cluster.metadata.topic(topic)?.id);
      if (unknown.some((id) => known.includes(id))) this.#pulse.wake();
    } catch (error) {
      logger.debug('The topics of the group could not be looked up; again later.', { error });
    }
  }

  /** The broker takes back what is deleted without a word: with nothing left, this is why. */
  async #lookForTopics(): Promise<void> {
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

/** Nothing is left at the signal once `until` aborts: it outlasts many memberships. */
function whenAborted(signal: AbortSignal, until: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true, signal: until });
  });
}
