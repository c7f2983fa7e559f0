import type { PreviousAssignment } from '../../assignment/index.js';
import type { AssignorName } from '../../port/consumer.js';
import type { DriverLogger } from '../../port/driver.js';
import { ConnectionError, FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import { Deferred, sleep, within } from '../../runtime/index.js';
import { leaveRequest, reactionTo } from '../wire/index.js';
import { groupError } from './group-advice.js';
import type { GroupCluster } from './group-cluster.js';
import type { GroupCoordinator } from './group-coordinator.js';
import { GroupEntry } from './group-entry.js';
import { Heart, type Loss } from './heart.js';
import type { JoinedGroup } from './join-round.js';
import { joinLane } from './lanes.js';
import { MemberStatus } from './member-status.js';
import type { Membership, MembershipHost, MemberSnapshot } from './membership.js';
import type { LeaderPlan } from './leader-plan.js';
import { noMember, Term, type HandBack } from './term.js';
import { TopicWatch } from './topic-watch.js';

export interface ClassicMembershipOptions {
  readonly cluster: GroupCluster;
  readonly coordinator: GroupCoordinator;
  readonly sessionId: string;
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly assignors: readonly AssignorName[];
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly host: MembershipHost;
  readonly logger: DriverLogger;
  /** How often the leader looks whether topics have changed; at most 5 s while one is missing. Default 60 s. */
  readonly metadataRefreshMs?: number;
}

const METADATA_REFRESH_MS = 60_000;
const LEAVE_TIMEOUT_MS = 1_000;
/** After something that should not happen. */
const RESTART_AFTER_MS = 5_000;

/** Of the rebalance time-out, so that the join still arrives in time. */
const SHARE_FOR_HANDING_BACK = 0.9;

/**
 * Membership by the classic protocol, eager:
 *
 *   entering ── joined ──▶ term (heartbeats; onAssigned) ── rebalance, rejoin ──▶ onRevoked ──▶ entering
 *      ▲                     │                                  └─ closing ──▶ onRevoked ──▶ leave
 *      └────── onLost ◀──────┴── lost: expelled, lease over, handed back too late
 *
 * One loop runs it; whatever goes wrong ends in another try or in the status `failed`.
 */
export class ClassicMembership implements Membership {
  readonly #options: ClassicMembershipOptions;
  readonly #status: MemberStatus;
  readonly #entry: GroupEntry;
  readonly #stop = new AbortController();
  #term: Term | undefined;
  #heart: Heart | undefined;
  #previous: PreviousAssignment | null = null;
  #settled = new Deferred();
  #running: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ClassicMembershipOptions) {
    this.#options = options;
    const { cluster, coordinator, sessionId, host, logger } = options;
    this.#status = new MemberStatus(cluster.runtime, (status) => host.onStatus(status), logger);
    this.#entry = new GroupEntry({
      cluster,
      coordinator,
      lane: joinLane(sessionId),
      settings: options,
      logger,
      status: this.#status,
    });
  }

  get snapshot(): MemberSnapshot {
    return this.#term?.snapshot ?? noMember(this.#options.groupId);
  }

  get assignment(): readonly TopicPartition[] {
    return this.#term?.partitions ?? [];
  }

  owns(partition: TopicPartition, since: MemberSnapshot): boolean {
    return this.#term !== undefined && this.#term.isOf(since) && this.#term.owns(partition);
  }

  whenSettled(): Promise<void> {
    return this.#term ? Promise.resolve() : this.#settled.promise;
  }

  start(): void {
    if (!this.#closed) this.#running ??= this.#run();
  }

  expelled(snapshot: MemberSnapshot, code: number): void {
    if (!this.#term?.isOf(snapshot)) return;
    const next = reactionTo('heartbeat', code) === 'lost' ? 'rejoin' : 'rejoin-as-new';
    const error = groupError(code, 'a commit was not accepted', this.#options);
    this.#term.loss.resolve({ kind: 'lost', next, error });
  }

  rejoin(reason: string): void {
    const { groupId, logger } = this.#options;
    logger.info('Joining the group again.', { groupId, reason });
    this.#term?.handBack.resolve({ kind: 'hand-back', because: 'rejoin' });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #run(): Promise<void> {
    let alive = true;
    while (alive && !this.#closing) {
      try {
        alive = await this.#live();
      } catch (error) {
        alive = !this.#closing && (await this.#survive(error as Error));
      }
    }
    this.#heart?.stop();
    this.#settled.resolve();
  }

  /** One term, from the way in to the way out. False when there must not be another. */
  async #live(): Promise<boolean> {
    this.#status.joining();
    const entered = await this.#entry.enter(this.#previous, this.#stop.signal, () =>
      this.#heart?.stop(),
    );
    if (entered.kind === 'failed') return this.#fail(entered.error);
    if (this.#closing) return false;
    const loss = await this.#serve(entered.joined);
    return loss === undefined || this.#lose(loss, entered.joined.partitions);
  }

  async #serve(joined: JoinedGroup): Promise<Loss | undefined> {
    const { groupId, logger } = this.#options;
    const { generation, partitions, lead } = joined;
    logger.info('Joined the group.', { groupId, generation, partitions: partitions.length });
    const term = new Term(groupId, joined);
    this.#term = term;
    this.#previous = { partitions, generation };
    this.#heart = this.#heartOf(term);
    this.#heart.start();
    const watch = lead && this.#watch(lead);
    watch?.start();
    try {
      const assigned = this.#assign(term);
      this.#settled.resolve();
      const end = await term.ended();
      return end.kind === 'lost' ? end : await this.#handBack(term, end, assigned);
    } finally {
      watch?.stop();
      this.#settled = new Deferred();
      this.#term = undefined;
    }
  }

  async #assign(term: Term): Promise<void> {
    const { host } = this.#options;
    const { generation } = term.snapshot;
    const told = await this.#tell(() =>
      host.onAssigned(term.partitions, generation, term.ending).catch((error: unknown) => {
        // The generation ended while it was being taken over: nobody's trouble.
        if (error !== term.ending.reason) throw error;
      }),
    );
    term.assigned = true;
    if (told && !term.ending.aborted) this.#status.stable(generation);
  }

  /** Gives the loss when the host did not hand back in time, or the group did not wait for it. */
  async #handBack(
    term: Term,
    { because }: HandBack,
    assigned: Promise<void>,
  ): Promise<Loss | undefined> {
    const { host, cluster } = this.#options;
    if (because !== 'closing') this.#status.joining();
    const revoked = assigned.then(async () => {
      if (term.partitions.length > 0) await this.#tell(() => host.onRevoked(term.partitions));
      return undefined;
    });
    const timeoutMs = this.#timeToHandBack(because);
    const inTime = within(cluster.runtime, timeoutMs, revoked, () => this.#tooLate(term));
    return Promise.race([inTime, term.loss.promise]).catch((error: Error): Loss => {
      this.#status.retrying(error);
      return { kind: 'lost', next: 'rejoin', error };
    });
  }

  /** The group counts from the beginning of the rebalance, of which we hear with the next heartbeat only. */
  #timeToHandBack(because: HandBack['because']): number {
    const whole = this.#options.rebalanceTimeoutMs * SHARE_FOR_HANDING_BACK;
    if (because !== 'rebalance' || !this.#heart) return whole;
    const gone = this.#options.cluster.runtime.monotonic() - this.#heart.stableAt;
    return Math.max(whole - gone, this.#options.rebalanceTimeoutMs - whole);
  }

  #tooLate({ partitions }: Term): Error {
    const { groupId, rebalanceTimeoutMs } = this.#options;
    return new FencedError(
      partitions,
      `Group "${groupId}": the partitions were not handed back within the rebalance time-out of ${rebalanceTimeoutMs} ms, so others get them. Make onRevoked faster, or raise rebalanceTimeoutMs.`,
    );
  }

  async #lose(loss: Loss, partitions: readonly TopicPartition[]): Promise<boolean> {
    const { groupId, host, cluster, rebalanceTimeoutMs, logger } = this.#options;
    this.#heart?.stop();
    if (loss.next === 'rejoin-as-new') this.#entry.memberId = '';
    logger.warn('The membership was lost.', { groupId, error: loss.error });
    if (partitions.length > 0) {
      const told = this.#tell(() => host.onLost(partitions));
      const tooLate = new FencedError(partitions, `Group "${groupId}": onLost does not end.`);
      await within(cluster.runtime, rebalanceTimeoutMs, told, () => tooLate).catch((error: Error) =>
        this.#status.retrying(error),
      );
    }
    return loss.next === 'fail' ? this.#fail(loss.error) : true;
  }

  /** Calls the host. A throw is reported, and the protocol goes on. */
  async #tell(call: () => Promise<void>): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      this.#options.logger.error('A callback of the assignment threw.', { error });
      this.#status.retrying(error as Error);
      return false;
    }
  }

  #heartOf(term: Term): Heart {
    const { cluster, coordinator, heartbeatIntervalMs } = this.#options;
    return new Heart({
      runtime: cluster.runtime,
      coordinator,
      snapshot: term.snapshot,
      settings: this.#options,
      heartbeatIntervalMs,
      onAlive: () => {
        if (term.assigned && !term.ending.aborted) this.#status.stable(term.snapshot.generation);
      },
      onTrouble: (error) => this.#status.retrying(error),
      onRebalance: () => term.handBack.resolve({ kind: 'hand-back', because: 'rebalance' }),
      onLoss: (loss) => term.loss.resolve(loss),
    });
  }

  #watch({ topics, counts }: LeaderPlan): TopicWatch {
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
    this.#options.logger.error('The membership has ended for good.', { error });
    this.#status.failed(error);
    return false;
  }

  /** False when there must not be another try: closing, or there is nothing to pause with and it would spin. */
  async #survive(error: Error): Promise<boolean> {
    const { cluster, logger } = this.#options;
    logger.error('The membership met an unexpected error and starts anew.', { error });
    this.#status.retrying(error);
    try {
      await sleep(cluster.runtime, RESTART_AFTER_MS, this.#stop.signal);
      return true;
    } catch (cannotSleep) {
      return !this.#closing && this.#fail(cannotSleep as Error);
    }
  }

  get #closing(): boolean {
    return this.#stop.signal.aborted;
  }

  async #close(): Promise<void> {
    const { cluster, coordinator, sessionId } = this.#options;
    this.#stop.abort(new ConnectionError('The session is closed.'));
    this.#term?.handBack.resolve({ kind: 'hand-back', because: 'closing' });
    await this.#running;
    this.#heart?.stop();
    await this.#leave();
    cluster.closeLane(joinLane(sessionId), new ConnectionError('The session is closed.'));
    coordinator.close();
    this.#settled.resolve();
  }

  /** One try, also while a join is pending: the group would wait for a ghost, for a session time-out. */
  async #leave(): Promise<void> {
    const { coordinator, groupId, logger } = this.#options;
    const { memberId } = this.#entry;
    if (memberId === '') return;
    try {
      await coordinator.request(coordinator.lane, leaveRequest(groupId, memberId), {
        timeoutMs: LEAVE_TIMEOUT_MS,
      });
    } catch (error) {
      logger.debug('The group could not be told that the member leaves.', { groupId, error });
    }
  }
}
