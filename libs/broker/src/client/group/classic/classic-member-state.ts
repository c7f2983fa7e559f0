import type { TopicPartition } from '../../../port/record.js';
import { reactionTo } from '../../../wire/index.js';
import { groupError, type GroupSettings } from '../group-error.js';
import type { GroupCoordinator } from '../group-coordinator.js';
import { ClassicHeartbeat } from './classic-heartbeat.js';
import { MemberPartitions } from '../member-partitions.js';
import type { AcceptedJoin } from './join-attempt.js';
import {
  type GroupMember,
  type MemberSnapshot,
  type MembershipLoss,
  notAMember,
} from '../membership.js';
import type { MemberStatus } from '../member-status.js';
import { MemberGeneration } from './member-generation.js';
import { OneTimeEvent } from '../one-time-event.js';

export interface ClassicMemberStateOptions {
  readonly coordinator: GroupCoordinator;
  readonly settings: GroupSettings & { readonly heartbeatIntervalMs: number };
  readonly status: MemberStatus;
}

/**
 * The number of heartbeats that a cooperative member sends at a short interval after a rebalance. A
 * second rebalance often follows, and the response to a heartbeat reports it.
 */
const FAST_HEARTBEATS = 10;

/**
 * The state of a classic member in its group: the current generation with its heartbeats, and the
 * owned partitions. A cooperative member keeps its partitions from one generation to the next.
 */
export class ClassicMemberState implements GroupMember {
  /** True while a join is under way. */
  isJoining = false;
  readonly partitions = new MemberPartitions();
  generation: MemberGeneration | undefined;
  /** Fires when the owned partitions are lost. */
  loss = new OneTimeEvent<MembershipLoss>();
  leaseUntil = -Infinity;
  readonly #options: ClassicMemberStateOptions;
  #heartbeat: ClassicHeartbeat | undefined;

  constructor(options: ClassicMemberStateOptions) {
    this.#options = options;
  }

  get snapshot(): MemberSnapshot {
    return this.generation?.snapshot ?? notAMember(this.#options.settings.groupId);
  }

  /** Extends the lease after an answer of the group. The broker counts from the arrival of the request. */
  renewLease(sentAt: number): void {
    const { sessionTimeoutMs } = this.#options.settings;
    this.leaseUntil = Math.max(this.leaseUntil, sentAt + sessionTimeoutMs);
  }

  /** The time at which the group was last known to be stable. */
  get stableAt(): number | undefined {
    return this.#heartbeat?.stableAt;
  }

  owns(partition: TopicPartition, { memberId, generation }: MemberSnapshot): boolean {
    return this.snapshot.memberId === memberId && this.partitions.ownedSince(partition, generation);
  }

  mayHaveNewGeneration({ memberId, generation }: MemberSnapshot): boolean {
    const { snapshot } = this;
    if (this.partitions.size === 0 || snapshot.memberId !== memberId) return false;
    return this.isJoining || snapshot.generation > generation;
  }

  beginGeneration({ memberId, generation, cooperative, sentAt }: AcceptedJoin): MemberGeneration {
    const { groupId, groupInstanceId } = this.#options.settings;
    if (this.partitions.size === 0) this.loss = new OneTimeEvent();
    this.#heartbeat?.stop();
    const protocol = 'classic';
    this.generation = new MemberGeneration(
      { groupId, memberId, generation, groupInstanceId, protocol },
      cooperative,
    );
    this.#heartbeat = this.#createHeartbeat(this.generation, sentAt);
    this.#heartbeat.start();
    return this.generation;
  }

  /**
   * Ends the generation after all partitions were revoked. Heartbeats continue until the next join.
   */
  endGeneration(): void {
    this.generation = undefined;
    this.leaseUntil = -Infinity;
  }

  stopHeartbeat(): void {
    this.leaseUntil = -Infinity;
    this.#heartbeat?.stop();
  }

  reportExpelled(snapshot: MemberSnapshot, code: number): void {
    if (!this.generation?.isOf(snapshot)) return;
    const error = groupError(code, 'a commit was not accepted', this.#options.settings);
    this.loss.fire({ kind: 'lost', next: afterExpulsion(code), error });
  }

  /** Loses all partitions and returns them. */
  loseAll(): readonly TopicPartition[] {
    this.#heartbeat?.stop();
    this.generation = undefined;
    this.leaseUntil = -Infinity;
    this.loss = new OneTimeEvent();
    return this.partitions.clear();
  }

  #createHeartbeat(generation: MemberGeneration, joinSentAt: number): ClassicHeartbeat {
    const { coordinator, settings, status } = this.#options;
    const { snapshot, cooperative } = generation;
    return new ClassicHeartbeat({
      runtime: coordinator.runtime,
      coordinator,
      snapshot,
      settings,
      joinSentAt,
      heartbeatIntervalMs: settings.heartbeatIntervalMs,
      fastHeartbeats: cooperative ? FAST_HEARTBEATS : 0,
      isJoining: () => this.isJoining,
      onAnswer: (sentAt) => this.renewLease(sentAt),
      onAlive: () => {
        if (generation.isAssigned && !generation.isOver) status.stable(snapshot.generation);
      },
      onError: (error) => status.retrying(error),
      onRebalance: () => generation.end.resolve({ kind: 'ended', reason: 'rebalance' }),
      onLoss: (loss) => this.loss.fire(loss),
    });
  }
}

function afterExpulsion(code: number): MembershipLoss['next'] {
  switch (reactionTo('heartbeat', code)) {
    case 'lost':
      return 'rejoin';
    case 'refuse':
      return 'fail';
    default:
      return 'rejoin-as-new';
  }
}
