import type { DriverLogger } from '../../port/driver.js';
import { errorReasonOf } from '../../port/error-text.js';
import { FencedError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import { within, type Runtime } from '../../runtime/index.js';
import type { MemberStatus } from './member-status.js';
import type { MembershipListener } from './membership.js';

export interface AssignmentCallbacksOptions {
  readonly listener: MembershipListener;
  readonly runtime: Runtime;
  readonly groupId: string;
  readonly rebalanceTimeoutMs: number;
  readonly status: MemberStatus;
  readonly logger: DriverLogger;
}

/**
 * Calls the listener of the membership. An error of a callback is reported in the status. A
 * callback that takes too long is no longer waited for, because the protocol must continue.
 */
export class AssignmentCallbacks {
  constructor(private readonly options: AssignmentCallbacksOptions) {}

  /** Returns whether the callback ended without an error. */
  assign(partitions: readonly TopicPartition[], generation: number): Promise<boolean> {
    return this.#call(() => this.options.listener.onAssigned(partitions, generation));
  }

  /** Rejects with a FencedError if the callback takes too long. */
  async revoke(partitions: readonly TopicPartition[], timeoutMs: number): Promise<void> {
    if (partitions.length === 0) return;
    const { listener, runtime, groupId, rebalanceTimeoutMs } = this.options;
    const call = this.#call(() => listener.onRevoked(partitions));
    await within(
      runtime,
      timeoutMs,
      call,
      () =>
        new FencedError(
          partitions,
          `Group "${groupId}": the partitions were not revoked within the rebalance timeout of ${rebalanceTimeoutMs} ms, so other members get them. Make onRevoked faster, or raise rebalanceTimeoutMs.`,
        ),
    );
  }

  async lose(partitions: readonly TopicPartition[]): Promise<void> {
    if (partitions.length === 0) return;
    const { listener, runtime, groupId, rebalanceTimeoutMs, status } = this.options;
    const call = this.#call(() => listener.onLost(partitions));
    const timeoutError = () =>
      new FencedError(
        partitions,
        `Group "${groupId}": onLost did not end in time. Return from it without waiting for work.`,
      );
    await within(runtime, rebalanceTimeoutMs, call, timeoutError).catch((error: Error) =>
      status.retrying(error),
    );
  }

  async #call(call: () => Promise<void>): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      this.options.logger.error('An assignment callback threw.', { error: errorReasonOf(error) });
      this.options.status.retrying(error as Error);
      return false;
    }
  }
}
