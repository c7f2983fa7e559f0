import type { CommittedOffset, PositionReset } from '../../../port/consumer.js';
import {
  LogTruncatedError,
  NoOffsetError,
  OffsetOutOfRangeError,
  type PartitionError,
} from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import type { ResolvedConsumerOptions } from '../../../port/validate-consumer-options.js';
import { Refusal } from '../../broker/faults/refusal.js';
import type { Connection } from '../connection.js';
import { partitionName } from '../../../port/topic-partition.js';
import type { GroupClient } from './group-client.js';
import type { PartitionGrowth } from './partition-growth.js';

/** The start position, and what to report about it. */
export interface StartPosition {
  readonly position: number;
  readonly reset?: PositionReset;
  readonly stopped?: PartitionError;
}

interface Bounds {
  readonly low: number;
  readonly high: number;
  /**
   * The start for 'latest': the last stable offset with read_committed, else the high watermark.
   */
  readonly latest: number;
}

/**
 * Determines the start position: the committed offset or, if it is missing, the one that
 * `offsetReset` defines.
 */
export class StartPositions {
  constructor(
    private readonly connection: Connection,
    private readonly group: GroupClient,
    private readonly options: ResolvedConsumerOptions,
    private readonly growth: PartitionGrowth,
  ) {}

  async committed(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
  ): Promise<readonly (CommittedOffset | null)[]> {
    const answers = await this.group.committed(partitions, signal);
    return answers.map((answer) => {
      if (answer.kind === 'none') return null;
      // A transaction may commit a newer offset; starting at the old one would read its records
      // twice.
      if (answer.kind === 'unstable')
        throw new Refusal(
          'UNSTABLE_OFFSET_COMMIT',
          `a transaction is about to commit an offset of ${partitionName(answer.partition)}`,
        );
      const { offset, metadata, leaderEpoch } = answer.offset;
      return { offset, metadata, leaderEpoch };
    });
  }

  async resolve(
    partition: TopicPartition,
    committed: CommittedOffset | null,
    signal: AbortSignal,
  ): Promise<StartPosition> {
    if (committed) return { position: committed.offset };
    const { offsetReset } = this.options;
    const isNew = offsetReset !== 'earliest' && this.growth.isNew(partition);
    if (offsetReset === 'none' && !isNew)
      return { position: -1, stopped: noOffsetError(partition) };
    const bounds = await this.#bounds(partition, signal);
    if (isNew) {
      const { topic, partition: number } = partition;
      const reset = { topic, partition: number, from: null, to: bounds.low } as const;
      return {
        position: bounds.low,
        reset: { ...reset, policy: 'earliest', reason: 'new-partition' },
      };
    }
    return this.#reset(partition, { from: null, reason: 'no-offset' }, bounds);
  }

  /** Handles an offset that is not in the log: it is reported, never skipped silently. */
  async outOfRange(
    partition: TopicPartition,
    from: number,
    signal: AbortSignal,
  ): Promise<StartPosition> {
    const bounds = await this.#bounds(partition, signal);
    if (this.options.offsetReset === 'none')
      return { position: from, stopped: outOfRangeError(partition, from, bounds) };
    return this.#reset(partition, { from, reason: 'out-of-range' }, bounds);
  }

  /**
   * Handles a log that was truncated below the position: the records from `end` on were never read.
   */
  truncated({ topic, partition }: TopicPartition, from: number, end: number): StartPosition {
    const { offsetReset: policy } = this.options;
    if (policy === 'none')
      return { position: from, stopped: truncatedError({ topic, partition }, from, end) };
    const reset = { topic, partition, from, to: end, policy, reason: 'log-truncated' } as const;
    return { position: end, reset };
  }

  #reset(
    { topic, partition }: TopicPartition,
    why: Pick<PositionReset, 'from' | 'reason'>,
    { low, latest }: Bounds,
  ): StartPosition {
    const policy = this.options.offsetReset === 'latest' ? 'latest' : 'earliest';
    const to = policy === 'latest' ? latest : low;
    return { position: to, reset: { topic, partition, ...why, to, policy } };
  }

  #bounds(partition: TopicPartition, signal: AbortSignal): Promise<Bounds> {
    const { topics } = this.connection.cluster;
    return this.connection.call(
      { operation: 'list-offsets', partitions: [partition] },
      () => {
        const { low, high, lastStable } = topics.partitionAtLeader(partition).log;
        const latest = this.options.isolation === 'read_committed' ? lastStable : high;
        return { low, high, latest };
      },
      { signal },
    );
  }
}

function noOffsetError({ topic, partition }: TopicPartition): NoOffsetError {
  return new NoOffsetError(
    topic,
    partition,
    -1,
    `The group has no committed offset for ${partitionName({ topic, partition })}, and offsetReset is 'none'. Commit one for the group, seek, or choose 'earliest' or 'latest'.`,
  );
}

function outOfRangeError(
  { topic, partition }: TopicPartition,
  offset: number,
  { low, high }: Bounds,
): OffsetOutOfRangeError {
  return new OffsetOutOfRangeError(
    topic,
    partition,
    offset,
    low,
    high,
    `Offset ${offset} is not in the log of ${partitionName({ topic, partition })}, which runs from ${low} up to ${high}, and offsetReset is 'none'. Seek to another offset, or choose 'earliest' or 'latest'.`,
  );
}

function truncatedError(
  { topic, partition }: TopicPartition,
  offset: number,
  end: number,
): LogTruncatedError {
  return new LogTruncatedError(
    topic,
    partition,
    offset,
    end,
    `The log of ${partitionName({ topic, partition })} was truncated to ${end} by an unclean leader election, below offset ${offset}, which was already read. The records in between are lost, and other records may have replaced them: seek to ${end} to read those.`,
  );
}
