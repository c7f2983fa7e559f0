import type { CommittedOffset, Isolation, OffsetReset } from '../../port/consumer.js';
import type { PositionReset } from '../../port/consumer.js';
import { NoOffsetError, OffsetOutOfRangeError, type PartitionError } from '../../port/errors.js';
import { lookUpOffsets } from '../offsets/offset-lookup.js';
import { EARLIEST, LATEST, type Cluster } from '../wire/index.js';
import type { OwnedPartition } from './owned-partition.js';

export interface StartPositionsOptions {
  readonly cluster: Cluster;
  readonly isolation: Isolation;
  readonly policy: OffsetReset;
  onTrouble(partition: OwnedPartition, error: Error): void;
}

export type Start =
  | { readonly kind: 'at'; readonly offset: number; readonly reset?: PositionReset }
  | { readonly kind: 'stopped'; readonly error: PartitionError };

/** Decides where reading starts: at the group's offset or, where it has none in the log, by the reset policy. */
export class StartPositions {
  constructor(private readonly options: StartPositionsOptions) {}

  async of(
    partition: OwnedPartition,
    committed: CommittedOffset | null,
    signal: AbortSignal,
  ): Promise<Start> {
    if (committed) return { kind: 'at', offset: committed.offset };
    const { policy } = this.options;
    if (policy === 'none') return { kind: 'stopped', error: noOffset(partition) };
    return this.#resetTo(policy, partition, null, signal);
  }

  /** The broker has no such offset: never a silent jump. */
  async outOfRange(partition: OwnedPartition, signal: AbortSignal): Promise<Start> {
    const { policy } = this.options;
    const offset = partition.fetchOffset;
    if (policy !== 'none') return this.#resetTo(policy, partition, offset, signal);
    const [low, high] = await Promise.all([
      this.#lookUp(partition, EARLIEST, signal),
      this.#lookUp(partition, LATEST, signal),
    ]);
    return { kind: 'stopped', error: outOfRange(partition, offset, low, high) };
  }

  async #resetTo(
    policy: Exclude<OffsetReset, 'none'>,
    partition: OwnedPartition,
    from: number | null,
    signal: AbortSignal,
  ): Promise<Start> {
    const to = await this.#lookUp(partition, policy === 'earliest' ? EARLIEST : LATEST, signal);
    const reset = { topic: partition.topic, partition: partition.partition, from, to, policy };
    return { kind: 'at', offset: to, reset };
  }

  async #lookUp(owned: OwnedPartition, timestamp: number, signal: AbortSignal): Promise<number> {
    const { cluster, isolation, onTrouble } = this.options;
    const { topic, partition } = owned;
    const [answer] = await lookUpOffsets(cluster, [{ topic, partition, timestamp }], {
      isolation,
      signal,
      onTrouble: (error) => onTrouble(owned, error),
    });
    return answer?.offset ?? -1;
  }
}

function noOffset({ topic, partition }: OwnedPartition): NoOffsetError {
  return new NoOffsetError(
    topic,
    partition,
    -1,
    `The group has no committed offset for partition ${partition} of "${topic}", and offsetReset is 'none'. Commit one for the group, seek, or choose 'earliest' or 'latest'.`,
  );
}

function outOfRange(
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
