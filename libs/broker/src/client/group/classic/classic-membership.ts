import type { PreviousAssignment } from '../../../assignment/index.js';
import type { AssignorName } from '../../../port/consumer.js';
import type { DriverLogger } from '../../../port/driver.js';
import { ConnectionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { Deferred, sleep } from '../../../runtime/index.js';
import { underEither } from '../either-signal.js';
import type { GroupCluster } from '../group-cluster.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { GroupEntry, type EntryOutcome } from './group-joiner.js';
import type { Loss } from './classic-heartbeat.js';
import { HostCalls } from '../assignment-callbacks.js';
import type { Admission, Claim, JoinedGroup } from './join-round.js';
import { joinLane } from '../connection-lanes.js';
import type { LeaderPlan } from './leader-assignment.js';
import { leaveGroup } from '../leave-group.js';
import { MemberStatus } from '../member-status.js';
import type { Membership, MembershipHost, MemberSnapshot } from '../membership.js';
import { Parting } from '../partition-handover.js';
import { Standing } from './classic-member-state.js';
import type { HandBack, Term } from './generation.js';
import { TopicWatch } from '../topic-watch.js';

export interface ClassicMembershipOptions {
  readonly cluster: GroupCluster;
  readonly coordinator: GroupCoordinator;
  readonly sessionId: string;
  readonly groupId: string;
  /** null for a dynamic member. */
  readonly groupInstanceId: string | null;
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
/** After something that should not happen. */
const RESTART_AFTER_MS = 5_000;

/**
 * Membership by the classic protocol. Eager:
 *
 *   entering ── joined ──▶ term (heartbeats; onAssigned) ── rebalance, rejoin ──▶ onRevoked ──▶ entering
 *      ▲                     │                                  └─ closing ──▶ onRevoked ──▶ leave
 *      └────── onLost ◀──────┴── lost: expelled, lease over, handed back too late
 *
 * Cooperative, once something is held: a rebalance leads back to entering at once, with heartbeats
 * and all that is held. The new assignment tells what is gone: only that is revoked, and we join
 * again without it. Should the group choose an eager assignor meanwhile, what is held is lost: its
 * leader gives it away without asking.
 *
 * One loop runs it; whatever goes wrong ends in another try or in the status `failed`.
 */
export class ClassicMembership implements Membership {
  readonly #options: ClassicMembershipOptions;
  readonly #status: MemberStatus;
  readonly #standing: Standing;
  readonly #entry: GroupEntry;
  readonly #calls: HostCalls;
  readonly #parting: Parting;
  readonly #stop = new AbortController();
  /** The last assignment, whatever became of it. */
  #previous: PreviousAssignment | null = null;
  #farewell: Promise<void> | undefined;
  #settled = new Deferred();
  #running: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ClassicMembershipOptions) {
    this.#options = options;
    const { cluster, coordinator, sessionId, host, logger } = options;
    const { runtime } = cluster;
    const status = new MemberStatus(runtime, (each) => host.onStatus(each), logger);
    this.#status = status;
    this.#calls = new HostCalls({ ...options, runtime, status });
    this.#standing = new Standing({ coordinator, settings: options, status });
    const [standing, calls] = [this.#standing, this.#calls];
    this.#parting = new Parting({ ...options, standing, calls, runtime, status });
    this.#entry = new GroupEntry({
      cluster,
      coordinator,
      lane: joinLane(sessionId),
      settings: options,
      logger,
      status,
      onJoining: () => this.#onJoining(),
      onAdmitted: (admission) => this.#onAdmitted(admission),
    });
  }

  get snapshot(): MemberSnapshot {
    return this.#standing.snapshot;
  }

  get assignment(): readonly TopicPartition[] {
    return this.#standing.holding.partitions;
  }

  owns(partition: TopicPartition, since: MemberSnapshot): boolean {
    return this.#standing.owns(partition, since);
  }

  hasGoneOn(snapshot: MemberSnapshot): boolean {
    return this.#standing.hasGoneOn(snapshot);
  }

  whenSettled(): Promise<void> {
    return this.#settled.promise;
  }

  start(): void {
    if (!this.#closed) this.#running ??= this.#run();
  }

  expelled(snapshot: MemberSnapshot, code: number): void {
    this.#standing.expelled(snapshot, code);
  }

  /** Asks for a rebalance: what the assignment rests on has changed. Without effect while joining. */
  rejoin(reason: string): void {
    const { groupId, logger } = this.#options;
    logger.info('Joining the group again.', { groupId, reason });
    this.#standing.term?.handBack.resolve({ kind: 'hand-back', because: 'rejoin' });
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
    // Closed in the middle of a cooperative rebalance: no sync comes for whoever waits for it.
    this.#settled.resolve();
    if (this.#standing.holding.size > 0) await this.#handBackAll('closing');
    this.#standing.stopHeart();
    this.#settled.resolve();
  }

  /** One generation, from the way in to the way out. False when there must not be another. */
  async #live(): Promise<boolean> {
    this.#status.joining();
    if (this.#standing.holding.size === 0) this.#standing.leaveTerm();
    const entered = await this.#enter();
    if (entered.kind === 'lost') return this.#lose(entered);
    return !this.#closing && this.#serve(entered.joined);
  }

  /** What is held can be lost on the way. */
  async #enter(): Promise<EntryOutcome> {
    const standing = this.#standing;
    // Who waits for an entry that was given up would never hear of this one.
    this.#settled.resolve();
    this.#settled = new Deferred();
    standing.isEntering = true;
    const abandon = new AbortController();
    const entering = underEither(this.#stop.signal, abandon.signal, (until) =>
      this.#entry.enter(() => this.#claim(), until),
    );
    try {
      return await (standing.holding.size > 0 ? standing.loss.or(entering) : entering);
    } finally {
      standing.isEntering = false;
      abandon.abort(new ConnectionError('The join was given up.'));
      await entering.catch(() => undefined);
    }
  }

  /** The generation is that of the last sync: one that was only joined has confirmed nothing. */
  #claim(): Claim {
    const previous = this.#previous;
    const { size, partitions } = this.#standing.holding;
    const held = size === 0 || !previous ? null : { ...previous, partitions };
    return { previous, held };
  }

  #onJoining(): void {
    if (this.#standing.holding.size === 0) this.#standing.stopHeart();
  }

  /** Before the sync: those who hold nothing begin their term after it. */
  #onAdmitted(admission: Admission): void {
    if (this.#standing.holding.size === 0) return;
    if (admission.cooperative) this.#standing.begin(admission);
    else this.#farewell = this.#parting.loseToEager(admission);
  }

  async #serve(joined: JoinedGroup): Promise<boolean> {
    const { groupId, logger } = this.#options;
    const { holding } = this.#standing;
    const { generation, protocol, partitions, lead } = joined;
    const count = partitions.length;
    logger.info('Joined the group.', { groupId, generation, protocol, partitions: count });
    const stays = holding.size > 0;
    const term = (stays && this.#standing.term) || this.#standing.begin(joined);
    const { added, gone } = holding.compare(partitions);
    this.#previous = { partitions, generation };
    const watch = lead && this.#watch(lead);
    watch?.start();
    this.#settled.resolve();
    try {
      await this.#farewell;
      if (gone.length > 0) return await this.#giveUp(gone, added, term);
      holding.add(added, generation);
      void this.#assign(term, added, stays);
      return await this.#stay(term);
    } finally {
      watch?.stop();
    }
  }

  async #stay(term: Term): Promise<boolean> {
    const end = await this.#standing.loss.or(term.handBack.promise);
    term.over = true;
    if (end.kind === 'lost') return this.#lose(end);
    if (end.because !== 'closing') {
      this.#status.joining();
      if (term.cooperative) return true;
    }
    return this.#handBackAll(end.because);
  }

  /** The second round of a cooperative rebalance begins with our joining without what is gone. */
  async #giveUp(
    gone: readonly TopicPartition[],
    added: readonly TopicPartition[],
    term: Term,
  ): Promise<boolean> {
    term.over = true;
    const end = await this.#parting.handBack(gone, 'rejoin');
    if (end?.kind === 'lost') return this.#lose(end);
    const { holding } = this.#standing;
    holding.drop(gone);
    if (end?.kind === 'late') await this.#parting.lose(gone, end.error);
    if (this.#closing) return false;
    holding.add(added, term.snapshot.generation);
    void this.#assign(term, added, true);
    return true;
  }

  async #assign(term: Term, added: readonly TopicPartition[], stays: boolean): Promise<void> {
    const { generation } = term.snapshot;
    const told = (stays && added.length === 0) || (await this.#calls.assign(added, generation));
    term.assigned = true;
    if (told && !term.over) this.#status.stable(generation);
  }

  async #handBackAll(because: HandBack['because']): Promise<boolean> {
    const { holding } = this.#standing;
    const end = await this.#parting.handBack(holding.partitions, because);
    if (end?.kind === 'lost') return this.#lose(end);
    if (!end) {
      holding.clear();
      return true;
    }
    this.#status.retrying(end.error);
    return this.#lose({ kind: 'lost', next: 'rejoin', error: end.error });
  }

  async #lose({ next, error }: Loss): Promise<boolean> {
    const { groupId, logger } = this.#options;
    const partitions = this.#forfeit();
    if (next === 'rejoin-as-new') this.#entry.memberId = '';
    logger.warn('The membership was lost.', { groupId, error });
    await this.#calls.lose(partitions);
    return next === 'fail' ? this.#fail(error) : true;
  }

  /** Nothing is ours: whoever waits to do something with it in the next generation waits in vain. */
  #forfeit(): readonly TopicPartition[] {
    const partitions = this.#standing.forfeit();
    this.#settled.resolve();
    return partitions;
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
    await this.#calls.lose(this.#forfeit());
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
    const { cluster, coordinator, sessionId, groupInstanceId, logger } = this.#options;
    const reason = new ConnectionError('The session is closed.');
    this.#stop.abort(reason);
    this.#standing.term?.handBack.resolve({ kind: 'hand-back', because: 'closing' });
    await this.#running;
    this.#standing.stopHeart();
    // A static member may come back: until its session is over, what it had waits for it.
    if (groupInstanceId === null) await leaveGroup(coordinator, this.#entry.memberId, logger);
    cluster.closeLane(joinLane(sessionId), reason);
    coordinator.close();
    this.#settled.resolve();
  }
}
