import type { Isolation, OffsetReset, PositionReset } from '../../../port/consumer.js';
import {
  LogTruncatedError,
  OffsetOutOfRangeError,
  type PartitionError,
} from '../../../port/errors.js';
import { lookUpOffsets } from '../../offsets/offset-lookup.js';
import { EARLIEST, LATEST, type Cluster, type ListedOffset } from '../../../wire/index.js';
import type { OwnedPartition } from '../fetching/owned-partition.js';

export interface ResetPositionsOptions {
  readonly cluster: Cluster;
  readonly isolation: Isolation;
  readonly policy: OffsetReset;
  onError(partition: OwnedPartition, error: Error): void;
}

export type StartPosition =
  | {
      readonly kind: 'at';
      readonly offset: number;
      /** The leader epoch of the record before the offset; -1 if it is unknown. */
      readonly leaderEpoch: number;
      readonly reset?: PositionReset;
    }
  | { readonly kind: 'stopped'; readonly error: PartitionError };

/** The first offset at which the leader's log differs from the records that were read. */
export interface Divergence {
  readonly offset: number;
  readonly leaderEpoch: number;
}

/**
 * Decides by the reset policy where reading continues if the position is not in the log, because it
 * is out of range or because the log was truncated below it.
 */
export class ResetPositions {
  constructor(private readonly options: ResetPositionsOptions) {}

  /**
   * Determines a new position for an offset that is not in the log. The change of the position is
   * always reported.
   */
  async resolveOutOfRange(partition: OwnedPartition, signal: AbortSignal): Promise<StartPosition> {
    const { policy } = this.options;
    const offset = partition.fetchOffset;
    if (policy !== 'none')
      return this.resetTo(policy, partition, { from: offset, reason: 'out-of-range' }, signal);
    const [low, high] = await Promise.all([
      this.#lookUp(partition, EARLIEST, signal),
      this.#lookUp(partition, LATEST, signal),
    ]);
    return { kind: 'stopped', error: outOfRangeError(partition, offset, low.offset, high.offset) };
  }

  /**
   * Determines a new position after the log was truncated below the old one. With 'earliest' and
   * with 'latest', reading continues at the divergence, because the records that the leader has
   * from there on were never read. The policy chooses the offset only if the leader does not know
   * the divergence.
   */
  async resolveTruncated(
    partition: OwnedPartition,
    divergence: Divergence | undefined,
    signal: AbortSignal,
  ): Promise<StartPosition> {
    const { policy } = this.options;
    const { position: from } = partition;
    if (policy === 'none') return { kind: 'stopped', error: truncatedError(partition, divergence) };
    const cause = { from, reason: 'log-truncated' } as const;
    if (!divergence) return this.resetTo(policy, partition, cause, signal);
    const { offset: to, leaderEpoch } = divergence;
    return {
      kind: 'at',
      offset: to,
      leaderEpoch,
      reset: positionReset(partition, { ...cause, to, policy }),
    };
  }

  /** Looks up the earliest or the latest offset in the leader's log. */
  async resetTo(
    policy: Exclude<OffsetReset, 'none'>,
    partition: OwnedPartition,
    cause: Pick<PositionReset, 'from' | 'reason'>,
    signal: AbortSignal,
  ): Promise<StartPosition> {
    const timestamp = policy === 'earliest' ? EARLIEST : LATEST;
    const { offset: to, leaderEpoch } = await this.#lookUp(partition, timestamp, signal);
    return {
      kind: 'at',
      offset: to,
      leaderEpoch,
      reset: positionReset(partition, { ...cause, to, policy }),
    };
  }

  async #lookUp(
    owned: OwnedPartition,
    timestamp: number,
    signal: AbortSignal,
  ): Promise<Pick<ListedOffset, 'offset' | 'leaderEpoch'>> {
    const { cluster, isolation, onError } = this.options;
    const { topic, partition } = owned;
    const [answer] = await lookUpOffsets(cluster, [{ topic, partition, timestamp }], {
      isolation,
      signal,
      onError: (error) => onError(owned, error),
    });
    return answer ?? { offset: -1, leaderEpoch: -1 };
  }
}

function positionReset(
  { topic, partition }: OwnedPartition,
  reset: Omit<PositionReset, 'topic' | 'partition'>,
): PositionReset {
  return { topic, partition, ...reset };
}

function outOfRangeError(
  { topic, partition }: OwnedPartition,
  offset: number,
  low: number,
  high: number,
): OffsetOutOfRangeError {
  return new OffsetOutOfRangeError(
    topic,
    partition,
    offset,
    low,
    high,
    `Offset ${offset} of partition ${partition} of "${topic}" is not in its log, which has ${low} to ${high - 1}, and offsetReset is 'none'. Seek to where reading should go on.`,
  );
}

function truncatedError(
  { topic, partition, position }: OwnedPartition,
  divergence: Divergence | undefined,
): LogTruncatedError {
  const advice = divergence
    ? `the records that were read are valid up to offset ${divergence.offset} only. The records after it are gone, and others may have replaced them: seek to ${divergence.offset} to read those`
    : 'its leader does not know at which offset. Seek to where reading should go on';
  return new LogTruncatedError(
    topic,
    partition,
    position,
    divergence?.offset,
    `The log of partition ${partition} of "${topic}" was truncated below offset ${position} by an unclean leader election: ${advice}.`,
  );
}
