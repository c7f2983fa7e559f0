import type { DriverLogger } from '../../port/driver.js';
import { FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import { within, type Runtime } from '../../runtime/index.js';
import type { MemberStatus } from './member-status.js';
import type { MembershipHost } from './membership.js';

export interface HostCallsOptions {
  readonly host: MembershipHost;
  readonly runtime: Runtime;
  readonly groupId: string;
  readonly rebalanceTimeoutMs: number;
  readonly status: MemberStatus;
  readonly logger: DriverLogger;
}

/** Tells the host. One that throws is reported, one that takes too long is left behind: the protocol goes on. */
export class HostCalls {
  constructor(private readonly options: HostCallsOptions) {}

  /** Whether it did not throw. */
  assign(partitions: readonly TopicPartition[], generation: number): Promise<boolean> {
    return this.#tell(() => this.options.host.onAssigned(partitions, generation));
  }

  /** Rejects with a FencedError when it takes too long. */
  async revoke(partitions: readonly TopicPartition[], timeoutMs: number): Promise<void> {
    if (partitions.length === 0) return;
    const { host, runtime, groupId, rebalanceTimeoutMs } = this.options;
    const told = this.#tell(() => host.onRevoked(partitions));
    await within(
      runtime,
      timeoutMs,
      told,
      () =>
        new FencedError(
          partitions,
          `Group "${groupId}": the partitions were not handed back within the rebalance time-out of ${rebalanceTimeoutMs} ms, so others get them. Make onRevoked faster, or raise rebalanceTimeoutMs.`,
        ),
    );
  }

  async lose(partitions: readonly TopicPartition[]): Promise<void> {
    if (partitions.length === 0) return;
    const { host, runtime, groupId, rebalanceTimeoutMs, status } = this.options;
    const told = this.#tell(() => host.onLost(partitions));
    const tooLate = () => new FencedError(partitions, `Group "${groupId}": onLost does not end.`);
    await within(runtime, rebalanceTimeoutMs, told, tooLate).catch((error: Error) =>
      status.retrying(error),
    );
  }

  async #tell(call: () => Promise<void>): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      this.options.logger.error('A callback of the assignment threw.', { error });
      this.options.status.retrying(error as Error);
      return false;
    }
  }
}
