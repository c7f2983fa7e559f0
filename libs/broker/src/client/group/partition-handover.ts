import type { DriverLogger } from '../../port/driver.js';
import { FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { Runtime } from '../../runtime/index.js';
import type { AssignmentCallbacks } from './assignment-callbacks.js';
import type { MemberStatus } from './member-status.js';
import type { MembershipLoss } from './membership.js';
import type { OneTimeEvent } from './one-time-event.js';

/** Why partitions are revoked. */
export type RevocationReason = 'rebalance' | 'rejoin' | 'closing';

/** The member whose partitions go. */
export interface HandoverMember {
  readonly loss: OneTimeEvent<MembershipLoss>;
  /** When the group was last known to be stable; undefined where the protocol does not need it. */
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

/** The host did not hand back in time. */
export interface RevocationTimeout {
  readonly kind: 'timed-out';
  readonly error: Error;
}

/** Of the rebalance time-out, so that the join still arrives in time. */
const REVOCATION_SHARE = 0.9;

/** How partitions go: handed back in good order, or lost. */
export class PartitionHandover {
  constructor(private readonly options: PartitionHandoverOptions) {}

  /** Gives why the partitions are not ours any more, where the host has not handed them back before. */
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

  /** An eager leader gives away what its members have: it takes it for handed back. */
  loseToEagerAssignor(protocol: string): Promise<void> {
    const { member, groupId } = this.options;
    const partitions = member.loseAll();
    const error = new FencedError(
      partitions,
      `Group "${groupId}" shares its partitions by "${protocol}" now, which gives away what its members have: a member joined that has no cooperative assignor, or prefers another. Give all members "cooperative-sticky" first.`,
    );
    return this.lose(partitions, error);
  }

  async lose(partitions: readonly TopicPartition[], error: Error): Promise<void> {
    const { callbacks, status, logger, groupId } = this.options;
    logger.warn('Partitions were lost.', { groupId, partitions, error });
    status.retrying(error);
    await callbacks.lose(partitions);
  }

  /** The group counts from the beginning of the rebalance, of which we hear with the next heartbeat only. */
  #revocationTimeoutMs(reason: RevocationReason): number {
    const { rebalanceTimeoutMs, runtime, member } = this.options;
    const fullMs = rebalanceTimeoutMs * REVOCATION_SHARE;
    const { stableAt } = member;
    if (reason !== 'rebalance' || stableAt === undefined) return fullMs;
    const elapsedMs = runtime.monotonic() - stableAt;
    return Math.max(fullMs - elapsedMs, rebalanceTimeoutMs - fullMs);
  }
}
