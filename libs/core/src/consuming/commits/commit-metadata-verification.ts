import type { AssignedPartition, BrokerRecord } from '@nest-event-bus/broker';
import { decodeMetadata, type CompletedRanges } from './commit-metadata-format.js';

/** Ranges that were accepted: where they end, and the latest epoch in which their records were written. */
export interface VerifiedRanges {
  readonly lastEpoch: number;
  readonly end: number;
}

/** Returns the ranges in the metadata of the commit at which reading starts, of whatever topic. */
export function committedRanges({
  position,
  committed,
}: AssignedPartition): CompletedRanges | undefined {
  return committed?.offset === position ? decodeMetadata(position, committed.metadata) : undefined;
}

/** Returns false for the ranges of a topic that was deleted and created again: the new topic has another id. */
export function isOfTopic(ranges: CompletedRanges | undefined, topicId: string | null): boolean {
  return ranges?.topicId === topicId;
}

/**
 * Compares the ranges with the first record that is read. A truncated and rewritten log has another
 * epoch at this offset. A compacted log has no record there.
 */
export function isOfLog(
  { leaderEpoch }: CompletedRanges,
  record: BrokerRecord,
  next: number,
): boolean {
  return record.offset === next && record.leaderEpoch === leaderEpoch;
}

/**
 * Compares accepted ranges with a later record. Epochs only grow along a log. A record of a later
 * epoch inside the ranges shows that the log was truncated there.
 */
export function isTruncatedAt(
  { lastEpoch, end }: VerifiedRanges,
  { offset, leaderEpoch }: BrokerRecord,
): boolean {
  return offset < end && leaderEpoch > lastEpoch;
}
