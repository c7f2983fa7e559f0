import type { DriverLogger } from '../../../port/driver.js';
import { TopicRecreatedError } from '../../../port/errors.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { PartitionLifecycle } from './partition-lifecycle.js';
import type { OwnedPartition } from './owned-partition.js';
import type { SessionContext } from './session-context.js';
import type { StartPositions } from './start-positions.js';
import type { TopicWatch } from './topic-watch.js';

export interface PartitionRecoveryContext extends SessionContext {
  readonly starts: StartPositions;
  readonly topics: TopicWatch;
  readonly lifecycle: PartitionLifecycle;
  readonly logger: DriverLogger | undefined;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
}

const RETRY_DELAY_MS = 250;

/** Determines how a partition continues that cannot be read at its position. */
export class PartitionRecovery {
  constructor(private readonly context: PartitionRecoveryContext) {}

  /** Continues as `offsetReset` defines for an offset that is not in the log. */
  async outOfRange(owned: OwnedPartition): Promise<void> {
    const from = owned.position;
    owned.isSuspended = true;
    const signal = this.context.signal;
    while (!signal.aborted && this.#owns(owned)) {
      try {
        const start = await this.context.starts.outOfRange(owned, from, signal);
        owned.isSuspended = false;
        if (start.reset)
          this.context.logger?.warn('The position was not in the log and has been reset', {
            ...start.reset,
          });
        await this.context.lifecycle.restart(owned, from, start);
        return this.context.wake();
      } catch (error) {
        if (signal.aborted) return;
        const shown = toBrokerError(error, owned.topic);
        if (!isRetriable(shown)) return this.context.fail(shown);
        this.context.status.retrying('fetching', shown);
        await this.context.delay(RETRY_DELAY_MS, signal);
      }
    }
  }

  /** Continues as `offsetReset` defines, at the end of the common part of the log. */
  async truncated(owned: OwnedPartition, end: number): Promise<void> {
    const { starts, lifecycle, logger, wake } = this.context;
    const from = owned.position;
    const start = starts.truncated(owned, from, end);
    if (start.reset)
      logger?.error('The log was truncated below the position (an unclean leader election)', {
        code: 'LOG_TRUNCATED',
        ...start.reset,
      });
    await lifecycle.restart(owned, from, start);
    wake();
  }

  /** Waits until the topic exists again; a recreated topic stops the partition until a seek. */
  async topicChanged(owned: OwnedPartition): Promise<void> {
    owned.isSuspended = true;
    const signal = this.context.signal;
    while (!signal.aborted && this.#owns(owned)) {
      const ids = await this.context.topics.refresh(signal).catch(() => undefined);
      const id = ids?.get(owned.topic);
      if (id !== undefined) {
        if (id !== owned.topicId && this.#owns(owned))
          await this.context.lifecycle.stop(owned, topicRecreatedError(owned));
        else await this.context.delay(RETRY_DELAY_MS, signal);
        owned.isSuspended = false;
        return this.context.wake();
      }
      await this.context.delay(RETRY_DELAY_MS, signal);
    }
  }

  #owns(owned: OwnedPartition): boolean {
    return this.context.ownership.get(owned) === owned;
  }
}

function topicRecreatedError({ topic, partition, position }: OwnedPartition): TopicRecreatedError {
  return new TopicRecreatedError(
    topic,
    partition,
    position,
    `Topic "${topic}" was deleted and created again: offset ${position} of partition ${partition} belonged to the old topic. Seek to the offset of the new topic at which reading should start.`,
  );
}
