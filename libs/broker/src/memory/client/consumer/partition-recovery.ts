import type { DriverLogger } from '../../../port/driver.js';
import { TopicRecreatedError } from '../../../port/errors.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { AssignmentRoad } from './assignment-road.js';
import type { OwnedPartition } from './owned-partition.js';
import type { SessionParts } from './session-parts.js';
import type { StartPositions } from './start-positions.js';
import type { TopicWatch } from './topic-watch.js';

export interface PartitionRecoveryParts extends SessionParts {
  readonly starts: StartPositions;
  readonly topics: TopicWatch;
  readonly road: AssignmentRoad;
  readonly logger: DriverLogger | undefined;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
}

const PAUSE_MS = 250;

/** Finds out how one partition can go on that cannot be read where it stands. */
export class PartitionRecovery {
  constructor(private readonly parts: PartitionRecoveryParts) {}

  /** By the policy for offsets that are not in the log. */
  async outOfRange(owned: OwnedPartition): Promise<void> {
    const from = owned.position;
    owned.isHeld = true;
    const signal = this.parts.signal;
    while (!signal.aborted && this.#owns(owned)) {
      try {
        const start = await this.parts.starts.outOfRange(owned, from, signal);
        owned.isHeld = false;
        if (start.reset)
          this.parts.logger?.warn('The position was not in the log and has been reset', {
            ...start.reset,
          });
        await this.parts.road.restart(owned, from, start);
        return this.parts.wake();
      } catch (error) {
        if (signal.aborted) return;
        const shown = toBrokerError(error, owned.topic);
        if (!isRetriable(shown)) return this.parts.fail(shown);
        this.parts.status.trouble('fetching', shown);
        await this.parts.rest(PAUSE_MS, signal);
      }
    }
  }

  /** By the same policy, from where the log agrees with what was read. */
  async truncated(owned: OwnedPartition, end: number): Promise<void> {
    const { starts, road, logger, wake } = this.parts;
    const from = owned.position;
    const start = starts.truncated(owned, from, end);
    if (start.reset)
      logger?.error('The log was cut back behind what was read (an unclean leader election)', {
        code: 'LOG_TRUNCATED',
        ...start.reset,
      });
    await road.restart(owned, from, start);
    wake();
  }

  /** Waits until the topic is there again; another one of the same name needs a decision. */
  async topicChanged(owned: OwnedPartition): Promise<void> {
    owned.isHeld = true;
    const signal = this.parts.signal;
    while (!signal.aborted && this.#owns(owned)) {
      const ids = await this.parts.topics.refresh(signal).catch(() => undefined);
      const id = ids?.get(owned.topic);
      if (id !== undefined) {
        if (id !== owned.topicId && this.#owns(owned))
          await this.parts.road.stop(owned, recreated(owned));
        else await this.parts.rest(PAUSE_MS, signal);
        owned.isHeld = false;
        return this.parts.wake();
      }
      await this.parts.rest(PAUSE_MS, signal);
    }
  }

  #owns(owned: OwnedPartition): boolean {
    return this.parts.ownership.get(owned) === owned;
  }
}

function recreated({ topic, partition, position }: OwnedPartition): TopicRecreatedError {
  return new TopicRecreatedError(
    topic,
    partition,
    position,
    `Topic "${topic}" was deleted and created again: offset ${position} of partition ${partition} belonged to the old one. Seek to where reading of the new one shall begin.`,
  );
}
