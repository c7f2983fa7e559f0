import type { DriverLogger } from '../../port/driver.js';
import { FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import type { Runtime } from '../../runtime/index.js';
import type { Loss } from './classic/classic-heartbeat.js';
import type { HostCalls } from './assignment-callbacks.js';
import type { Admission } from './classic/join-round.js';
import type { MemberStatus } from './member-status.js';
import type { Standing } from './classic/classic-member-state.js';
import type { HandBack } from './classic/generation.js';

export interface PartingOptions {
  readonly standing: Pick<Standing, 'loss' | 'stableAt' | 'forfeit'>;
  readonly calls: HostCalls;
  readonly status: MemberStatus;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly groupId: string;
  readonly rebalanceTimeoutMs: number;
}

/** The host did not hand back in time. */
export interface Late {
  readonly kind: 'late';
  readonly error: Error;
}

/** Of the rebalance time-out, so that the join still arrives in time. */
const SHARE_FOR_HANDING_BACK = 0.9;

/** How partitions go: handed back in good order, or lost. */
export class Parting {
  constructor(private readonly options: PartingOptions) {}

  /** Gives why the partitions are not ours any more, where the host has not handed them back before. */
  handBack(
    partitions: readonly TopicPartition[],
    because: HandBack['because'],
  ): Promise<Loss | Late | undefined> {
    const { calls, standing } = this.options;
    const revoked = calls.revoke(partitions, this.#timeToHandBack(because)).then(
      () => undefined,
      (error: Error): Late => ({ kind: 'late', error }),
    );
    return standing.loss.or(revoked);
  }

  /** An eager leader gives away what its members have: it takes it for handed back. */
  loseToEager({ protocol }: Admission): Promise<void> {
    const { standing, groupId } = this.options;
    const partitions = standing.forfeit();
    const error = new FencedError(
      partitions,
      `Group "${groupId}" shares its partitions by "${protocol}" now, which gives away what its members have: a member joined that has no cooperative assignor, or prefers another. Give all members "cooperative-sticky" first.`,
    );
    return this.lose(partitions, error);
  }

  async lose(partitions: readonly TopicPartition[], error: Error): Promise<void> {
    const { calls, status, logger, groupId } = this.options;
    logger.warn('Partitions were lost.', { groupId, partitions, error });
    status.retrying(error);
    await calls.lose(partitions);
  }

  /** The group counts from the beginning of the rebalance, of which we hear with the next heartbeat only. */
  #timeToHandBack(because: HandBack['because']): number {
    const { rebalanceTimeoutMs, runtime, standing } = this.options;
    const whole = rebalanceTimeoutMs * SHARE_FOR_HANDING_BACK;
    const { stableAt } = standing;
    if (because !== 'rebalance' || stableAt === undefined) return whole;
    const gone = runtime.monotonic() - stableAt;
    return Math.max(whole - gone, rebalanceTimeoutMs - whole);
  }
}
