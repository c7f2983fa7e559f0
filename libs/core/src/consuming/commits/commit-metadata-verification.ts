import type { AssignedPartition, BrokerRecord } from '@nest-event-bus/broker';
import { decodeMetadata, type CompletedRanges } from './commit-metadata-format.js';

/**
 * Completed ranges that belong to this log: where they end, and the latest epoch in which their
 * records were written.
 */
export interface VerifiedRanges {
  readonly lastEpoch: number;
  readonly end: number;
}

/**
 * Returns the ranges in the metadata of the commit at which reading starts. Their topic is not
 * checked.
 */
export function committedRanges({
  partition,
  position,
  committed,
}: AssignedPartition): CompletedRanges | undefined {
  return committed?.offset === position
    ? decodeMetadata({ partition, offset: position }, committed.metadata)
    : undefined;
}

/**
 * Returns whether the ranges belong to this topic. A topic that was deleted and created again has
 * another id.
 */
export function isOfTopic(ranges: CompletedRanges | undefined, topicId: string | null): boolean {
  return ranges?.topicId === topicId;
}

/**
 * Returns whether the ranges belong to this log, by the first record that is read. A truncated and
 * rewritten log has another epoch at the committed offset, and a compacted log has no record there.
 */
export function isOfLog(
  { leaderEpoch }: CompletedRanges,
  record: BrokerRecord,
  next: number,
): boolean {
  return record.offset === next && record.leaderEpoch === leaderEpoch;
}

/**
 * Returns whether the log was truncated inside the ranges. Epochs only grow along a log, so a
 * record with a later epoch inside the ranges was written after a truncation.
 */
export function isTruncatedAt(
  { lastEpoch, end }: VerifiedRanges,
  { offset, leaderEpoch }: BrokerRecord,
): boolean {
  return offset < end && leaderEpoch > lastEpoch;
}
