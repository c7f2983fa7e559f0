import type { LaneView } from '../../model/states/lane-view.js';
import type { ArrivalTime } from './watermark-history.js';

export interface PartitionOffsets {
  readonly low: number;
  readonly high: number;
  /** Undefined if the group has committed no offset. */
  readonly committed: number | undefined;
  /** Where a group without a committed offset begins. */
  readonly startsAt: 'low' | 'high';
}

/**
 * Returns the offset at which the group goes on. A committed offset below the log is behind the
 * retention. One beyond it belongs to a deleted topic, or to records that the log has lost.
 */
export function nextOffset({ low, high, committed, startsAt }: PartitionOffsets): number {
  if (committed === undefined || committed > high) return startsAt === 'low' ? low : high;
  return Math.max(committed, low);
}

/** Returns the records that were written and are not committed. */
export function recordsBehind(offsets: PartitionOffsets): number {
  return Math.max(0, offsets.high - nextOffset(offsets));
}

/**
 * Returns the first offset that is not finished. Records that this process has finished, and not
 * committed yet, do not count.
 */
export function firstUnfinished(next: number, lane: LaneView | undefined): number {
  return Math.max(next, lane?.watermark ?? 0);
}

/**
 * Returns when a record was written. Its own timestamp is exact, but clocks differ and producers
 * may set any time, so it counts only within the time that the watermarks leave.
 */
export function writtenAt(
  arrival: ArrivalTime | undefined,
  timestamp: number | undefined,
): number | undefined {
  if (timestamp === undefined) return arrival?.estimate;
  if (!arrival) return timestamp;
  return Math.min(Math.max(timestamp, arrival.earliest), arrival.latest);
}
