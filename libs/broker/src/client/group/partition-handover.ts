import type { DriverLogger } from '../../port/driver.js';
import { FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { Runtime } from '../../runtime/index.js';
import type { AssignmentCallbacks } from './assignment-callbacks.js';
import type { MemberStatus } from './member-status.js';
import type { MembershipLoss } from './membership.js';
import type { OneTimeEvent } from './one-time-event.js';

/** Reason for a revocation. */
export type RevocationReason = 'rebalance' | 'rejoin' | 'closing';

/** The member whose partitions are revoked or lost. */
export interface HandoverMember {
  readonly loss: OneTimeEvent<MembershipLoss>;
  /**
   * The time at which the group was last known to be stable; undefined if the protocol does not use
   * it.
   */
  readonly stableAt: number | undefined;
  loseAll(): readonly TopicPartition[];
}

export interface PartitionHandoverOptions {
  readonly member: HandoverMember;
  readonly callbacks: AssignmentCallbacks;
  readonly status: MemberStatus;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly groupId: string;
  readonly rebalanceTimeoutMs: number;
}

/** The result if `onRevoked` did not end within its time limit. */
export interface RevocationTimeout {
  readonly kind: 'timed-out';
  readonly error: Error;
}

/**
 * The share of the rebalance timeout for the revocation, so that the join still arrives before the
 * timeout ends.
 */
const REVOCATION_SHARE = 0.9;

/** Ends the ownership of partitions: they are revoked, or they are lost. */
export class PartitionHandover {
  constructor(private readonly options: PartitionHandoverOptions) {}

  /**
   * Revokes partitions. Resolves with the reason if they were lost before `onRevoked` ended, or if
   * it took too long.
   */
  revoke(
    partitions: readonly TopicPartition[],
    reason: RevocationReason,
  ): Promise<MembershipLoss | RevocationTimeout | undefined> {
    const { callbacks, member } = this.options;
    const revoked = callbacks.revoke(partitions, this.#revocationTimeoutMs(reason)).then(
      () => undefined,
      (error: Error): RevocationTimeout => ({ kind: 'timed-out', error }),
    );
    return member.loss.raceWith(revoked);
  }

  /**
   * Loses all partitions because the group has chosen an eager assignor: the leader reassigns them
   * as if they had been revoked.
   */
  loseToEagerAssignor(protocol: string): Promise<void> {
    const { member, groupId } = this.options;
    const partitions = member.loseAll();
    const error = new FencedError(
      partitions,
      `Group "${groupId}" now uses the assignor "${protocol}", which reassigns all partitions at once: a member joined that offers no cooperative assignor, or prefers another. Give all members "cooperative-sticky" first.`,
    );
    return this.lose(partitions, error);
  }

  async lose(partitions: readonly TopicPartition[], error: Error): Promise<void> {
    const { callbacks, status, logger, groupId } = this.options;
    logger.warn('Partitions were lost.', { groupId, partitions, error });
    status.retrying(error);
    await callbacks.lose(partitions);
  }

  /**
   * Returns the remaining time for the revocation. The group counts from the start of the
   * rebalance, which this member notices only at its next heartbeat.
   */
  #revocationTimeoutMs(reason: RevocationReason): number {
    const { rebalanceTimeoutMs, runtime, member } = this.options;
    const fullMs = rebalanceTimeoutMs * REVOCATION_SHARE;
    const { stableAt } = member;
    if (reason !== 'rebalance' || stableAt === undefined) return fullMs;
    const elapsedMs = runtime.monotonic() - stableAt;
    return Math.max(fullMs - elapsedMs, rebalanceTimeoutMs - fullMs);
  }
}
