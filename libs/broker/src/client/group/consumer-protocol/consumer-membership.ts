import type { DriverLogger } from '../../../port/driver.js';
import { ConnectionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { sleep } from '../../../runtime/index.js';
import { ConsumerLife } from './consumer-member.js';
import type { GroupSettings } from '../group-advice.js';
import type { GroupCluster } from '../group-cluster.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import type { Loss } from '../classic/classic-heartbeat.js';
import { HostCalls } from '../assignment-callbacks.js';
import { leaveConsumerGroup } from '../leave-group.js';
import { MemberStatus } from '../member-status.js';
import type { Membership, MembershipHost, MemberSnapshot } from '../membership.js';
import { topicsAreMissing } from '../missing-topics.js';
import { Patience } from '../classic/join-backoff.js';
import { noMember } from '../classic/generation.js';

export interface ConsumerMembershipOptions extends GroupSettings {
  readonly cluster: GroupCluster;
  readonly coordinator: GroupCoordinator;
  readonly topics: readonly string[];
  readonly rebalanceTimeoutMs: number;
  readonly host: MembershipHost;
  readonly logger: DriverLogger;
  /** The broker does not offer the protocol: this membership has ended, and left nothing behind. */
  readonly onUnsupported: (error: Error) => void;
}

/** After something that should not happen. */
const RESTART_AFTER_MS = 5_000;

/**
 * Membership by KIP-848. The broker decides who reads what; every heartbeat says what we have, and
 * its answer says what we should have:
 *
 *   topics exist ──▶ beats ── answer: more ──▶ onAssigned
 *        ▲            │  ▲─── answer: less ──▶ onRevoked, then a beat at once, without it
 *        │            ├── lost: fenced, unknown, lease over ──▶ onLost ──┐
 *        │            └── closing ──▶ onRevoked ──▶ leave                │
 *        └──────────────────── as a new member ◀─────────────────────────┘
 *
 * What stays is read and committed all the time: nobody waits for anybody else.
 */
export class ConsumerMembership implements Membership {
  readonly #options: ConsumerMembershipOptions;
  readonly #status: MemberStatus;
  readonly #calls: HostCalls;
  readonly #stop = new AbortController();
  #patience: Patience;
  #life: ConsumerLife | undefined;
  #running: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ConsumerMembershipOptions) {
    this.#options = options;
    const { cluster, host, logger } = options;
    const { runtime } = cluster;
    this.#status = new MemberStatus(runtime, (each) => host.onStatus(each), logger);
    this.#calls = new HostCalls({ ...options, runtime, status: this.#status });
    this.#patience = new Patience(runtime);
  }

  get snapshot(): MemberSnapshot {
    return this.#life?.snapshot ?? noMember(this.#options.groupId, 'consumer');
  }

  get assignment(): readonly TopicPartition[] {
    return this.#life?.partitions ?? [];
  }

  owns(partition: TopicPartition, since: MemberSnapshot): boolean {
    return this.#life?.owns(partition, since) ?? false;
  }

  /** An epoch that is over is told by a code of its own, and tried again with the next one. */
  hasGoneOn(): boolean {
    return false;
  }

  whenSettled(): Promise<void> {
    return Promise.resolve();
  }

  expelled(snapshot: MemberSnapshot, code: number): void {
    this.#life?.expelled(snapshot, code);
  }

  start(): void {
    if (!this.#closed) this.#running ??= this.#run();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #run(): Promise<void> {
    for (let alive = true; alive && !this.#closing;) {
      try {
        alive = await this.#live();
      } catch (error) {
        alive = !this.#closing && (await this.#survive(error as Error));
      }
    }
  }

  /** False when there must not be another time. */
  async #live(): Promise<boolean> {
    this.#status.joining();
    await this.#untilTopicsExist();
    const life = this.#begin();
    const end = await life.run(this.#stop.signal);
    if (life.hasJoined) this.#patience = new Patience(this.#options.cluster.runtime);
    if (end === 'closed' || end.next === 'rejoin') await this.#leave(life);
    return end !== 'closed' && !this.#closing && this.#goOn(end);
  }

  async #untilTopicsExist(): Promise<void> {
    const { signal } = this.#stop;
    const parts = { ...this.#options, status: this.#status };
    for (;;) {
      const setback = await topicsAreMissing(parts, this.#options.topics, signal);
      if (!setback) return;
      this.#status.retrying(setback.error);
      await this.#patience.wait(setback.pace, signal);
    }
  }

  #begin(): ConsumerLife {
    const { cluster, coordinator, logger } = this.#options;
    const [settings, status, calls] = [this.#options, this.#status, this.#calls];
    const parts = { cluster, coordinator, settings, status, calls, logger };
    return (this.#life = new ConsumerLife(parts));
  }

  /** Also of one that has only asked to join: its answer may be on the way. */
  #leave({ memberId }: ConsumerLife): Promise<void> {
    const { coordinator, groupId, groupInstanceId, logger } = this.#options;
    return leaveConsumerGroup(coordinator, { groupId, memberId, groupInstanceId }, logger);
  }

  async #goOn({ next, error }: Loss): Promise<boolean> {
    if (next === 'fail') return this.#fail(error);
    if (next === 'fall-back') {
      this.#options.onUnsupported(error);
      return false;
    }
    await this.#patience.wait('at-once', this.#stop.signal);
    return true;
  }

  #fail(error: Error): false {
    this.#options.logger.error('The membership has ended for good.', { error });
    this.#status.failed(error);
    return false;
  }

  /** False when there must not be another try: there is nothing to pause with, and it would spin. */
  async #survive(error: Error): Promise<boolean> {
    this.#options.logger.error('The membership met an unexpected error and starts anew.', {
      error,
    });
    this.#status.retrying(error);
    try {
      await sleep(this.#options.cluster.runtime, RESTART_AFTER_MS, this.#stop.signal);
      return true;
    } catch (cannotSleep) {
      return !this.#closing && this.#fail(cannotSleep as Error);
    }
  }

  get #closing(): boolean {
    return this.#stop.signal.aborted;
  }

  async #close(): Promise<void> {
    this.#stop.abort(new ConnectionError('The session is closed.'));
    await this.#running;
    this.#options.coordinator.close();
  }
}
