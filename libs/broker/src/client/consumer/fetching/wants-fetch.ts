import type { OwnedPartition } from './owned-partition.js';

/**
 * One chunk being delivered and one in reserve, so that the next fetch runs while records are
 * handled.
 */
const CHUNKS_AHEAD = 2;

/**
 * Decides whether the next fetch of its broker asks for a partition. Paused and stopped partitions are
 * left out, and those that back off or have enough records fetched ahead.
 */
export function wantsFetch(partition: OwnedPartition, now: number): boolean {
  return (
    !partition.isRequested &&
    !partition.paused &&
    partition.stopReason === undefined &&
    partition.fetchOffset >= 0 &&
    partition.backoffUntil <= now &&
    partition.chunkCount < CHUNKS_AHEAD
  );
}
