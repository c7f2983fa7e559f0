import type { OwnedPartition } from './owned-partition.js';

/**
 * The limit of chunks in memory: a chunk that is being delivered and one in reserve, so that the
 * next fetch runs while records are handled.
 */
const CHUNKS_AHEAD = 2;

/**
 * Decides whether the next fetch from the leader contains a partition. It does not if the partition
 * is paused, stopped, backing off, or has enough records fetched ahead.
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
