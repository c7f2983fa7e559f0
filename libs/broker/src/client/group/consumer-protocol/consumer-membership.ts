import type { DriverLogger } from '../../../port/driver.js';
import { ConnectionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { sleep } from '../../../runtime/index.js';
import { ConsumerGroupMember } from './consumer-group-member.js';
import type { GroupSettings } from '../group-error.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { AssignmentCallbacks } from '../assignment-callbacks.js';
import { leaveConsumerGroup, leaveConsumerGroupForCertain } from '../leave-group.js';
import { MemberStatus } from '../member-status.js';
import {
  type GroupMember,
  type Membership,
  type MembershipListener,
  type MembershipLoss,
  noConsumerMember,
} from '../membership.js';
import { checkTopicsExist } from '../topics/check-topics-exist.js';
import { JoinBackoff } from '../join-backoff.js';
import type { ClusterClient } from '../../../wire/index.js';

export interface ConsumerMembershipOptions extends GroupSettings {
  readonly cluster: ClusterClient;
  readonly coordinator: GroupCoordinator;
  readonly topics: readonly string[];
  readonly rebalanceTimeoutMs: number;
  readonly listener: MembershipListener;
  readonly logger: DriverLogger;
  /**
   * Called when the broker does not support the consumer protocol. This membership has then ended
   * and owns no partitions.
   */
  readonly onUnsupported: (error: Error) => void;
}

/** Delay before the membership is restarted after an unexpected error. */
const RESTART_AFTER_MS = 5_000;

/**
 * Membership by KIP-848. The broker assigns the partitions. Every heartbeat reports the owned
 * partitions, and its response contains the target assignment:
 *
 *   topics exist ──▶ heartbeats ── response: more ──▶ onAssigned
 *        ▲            │  ▲─────── response: fewer ──▶ onRevoked, then a heartbeat at once without them
 *        │            ├── lost: fenced, unknown member, session expired ──▶ onLost ──┐
 *        │            └── closing ──▶ onRevoked ──▶ leave                            │
 *        └──── as a new member ◀── leave until answered, unless the member is unknown ┘
 *
 * Partitions that stay are read and committed all the time: no member waits for another.
 */
export class ConsumerMembership implements Membership {
  readonly #options: ConsumerMembershipOptions;
  readonly #status: MemberStatus;
  readonly #callbacks: AssignmentCallbacks;
  readonly #stop = new AbortController();
  #joinBackoff: JoinBackoff;
  #member: ConsumerGroupMember | undefined;
  readonly #noMember: GroupMember;
  /** The last member that the group may still know. It keeps its partitions until it has left. */
  #toLeave: ConsumerGroupMember | undefined;
  #running: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ConsumerMembershipOptions) {
    this.#options = options;
    const { cluster, listener, logger } = options;
    const { runtime } = cluster;
    this.#status = new MemberStatus(runtime, (each) => listener.onStatus(each), logger);
    this.#callbacks = new AssignmentCallbacks({ ...options, runtime, status: this.#status });
    this.#joinBackoff = new JoinBackoff(runtime);
    this.#noMember = noConsumerMember(options.groupId);
  }

  get member(): GroupMember {
    return this.#member ?? this.#noMember;
  }

  get assignment(): readonly TopicPartition[] {
    return this.#member?.partitions ?? [];
  }

  whenSettled(): Promise<void> {
    return Promise.resolve();
  }

  start(): void {
    if (!this.#closed) this.#running ??= this.#run();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #run(): Promise<void> {
    for (let shouldContinue = true; shouldContinue && !this.#isClosing;) {
      try {
        shouldContinue = await this.#runMember();
      } catch (error) {
        shouldContinue = !this.#isClosing && (await this.#waitToRestart(error as Error));
      }
    }
  }

  /** Runs one member until it ends. Returns false if no other member may replace it. */
  async #runMember(): Promise<boolean> {
    this.#status.joining();
    await this.#leaveForCertain();
    await this.#waitForTopics();
    const member = this.#createMember();
    const end = await member.run(this.#stop.signal);
    if (member.hasJoined) this.#joinBackoff = new JoinBackoff(this.#options.cluster.runtime);
    if (end === 'closed') return false;
    if (end.next !== 'rejoin') this.#toLeave = undefined;
    return !this.#isClosing && this.#continueAfter(end);
  }

  /** Leaves under the id of the last member, so that the next one gets its partitions at once. */
  async #leaveForCertain(): Promise<void> {
    if (!this.#toLeave) return;
    const { coordinator, groupId, groupInstanceId } = this.#options;
    const { memberId, sessionMs } = this.#toLeave;
    await leaveConsumerGroupForCertain({
      coordinator,
      member: { groupId, memberId, groupInstanceId },
      sessionMs,
      onError: (error) => this.#status.retrying(error),
      signal: this.#stop.signal,
    });
    this.#toLeave = undefined;
    this.#status.joining();
  }

  async #waitForTopics(): Promise<void> {
    const { signal } = this.#stop;
    const parts = { ...this.#options, status: this.#status };
    for (;;) {
      const unavailable = await checkTopicsExist(parts, this.#options.topics, signal);
      if (!unavailable) return;
      this.#status.retrying(unavailable.error);
      await this.#joinBackoff.wait(unavailable.urgency, signal);
    }
  }

  #createMember(): ConsumerGroupMember {
    const { cluster, coordinator, logger } = this.#options;
    const [settings, status, callbacks] = [this.#options, this.#status, this.#callbacks];
    const parts = { cluster, coordinator, settings, status, callbacks, logger };
    this.#member = new ConsumerGroupMember(parts);
    // The group may know a member from its first request on, even if the response is lost.
    this.#toLeave = this.#member;
    return this.#member;
  }

  async #continueAfter({ next, error }: MembershipLoss): Promise<boolean> {
    if (next === 'fail') return this.#fail(error);
    if (next === 'fall-back') {
      this.#options.onUnsupported(error);
      return false;
    }
    await this.#joinBackoff.wait('at-once', this.#stop.signal);
    return true;
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
    this.#options.logger.error('The membership failed with an unexpected error and is restarted.', {
      error,
    });
    this.#status.retrying(error);
    try {
      await sleep(this.#options.cluster.runtime, RESTART_AFTER_MS, this.#stop.signal);
      return true;
    } catch (sleepError) {
      return !this.#isClosing && this.#fail(sleepError as Error);
    }
  }

  get #isClosing(): boolean {
    return this.#stop.signal.aborted;
  }

  async #close(): Promise<void> {
    this.#stop.abort(new ConnectionError('The session is closed.'));
    await this.#running;
    await this.#leaveOnce();
    this.#options.coordinator.close();
  }

  async #leaveOnce(): Promise<void> {
    if (!this.#toLeave) return;
    const { coordinator, groupId, groupInstanceId, logger } = this.#options;
    const { memberId } = this.#toLeave;
    await leaveConsumerGroup(coordinator, { groupId, memberId, groupInstanceId }, logger);
  }
}
