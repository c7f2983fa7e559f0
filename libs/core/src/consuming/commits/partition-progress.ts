import type { AssignedPartition, BrokerRecord, OffsetCommit } from '@nest-event-bus/broker';
import {
  type CompletedRanges,
  encodeMetadata,
  HELD_START,
  isHeldStart,
} from './commit-metadata-format.js';
import {
  committedRanges,
  isOfLog,
  isOfTopic,
  isTruncatedAt,
  type VerifiedRanges,
} from './commit-metadata-verification.js';
import { LeaderEpochs } from './leader-epochs.js';
import type { MetadataBudget } from './metadata-budget.js';
import { OffsetTracker, type OffsetRange } from './offset-tracker.js';

export interface ProgressParts {
  /** Topic id; null if the broker knows no topic ids. */
  readonly topicId: string | null;
  readonly budget: MetadataBudget;
}

/** Failed calls of the first unfinished record, which an earlier owner has made. */
export interface CarriedCalls {
  readonly offset: number;
  readonly calls: number;
}

/** Progress of a partition in one assignment, and the part of it that the group has stored. */
export class PartitionProgress {
  readonly tracker: OffsetTracker;
  readonly #epochs: LeaderEpochs;
  /** The last known committed offset, or the start position. */
  committed: number;
  /**
   * True if the completed records beyond the first unfinished one do not fit into the metadata. No
   * further record begins until they fit.
   */
  isMetadataFull = false;
  #metadata: string | null;
  /**
   * Completed ranges that an earlier owner has committed. The first record that is read shows
   * whether they belong to this log.
   */
  #unverifiedMetadata: CompletedRanges | undefined;
  /**
   * Completed ranges of an earlier owner that belong to this log. A record with a later epoch than
   * `lastEpoch` shows that the log was truncated after they were committed.
   */
  #verifiedMetadata: VerifiedRanges | undefined;
  /** Set when the first record shows that the metadata belongs to this log. */
  carriedCalls: CarriedCalls | undefined;
  #isCommittingStopped = false;
  #beginning: OffsetCommit | undefined;

  constructor(
    private readonly assigned: AssignedPartition,
    private readonly parts: ProgressParts,
  ) {
    const { position, committed } = assigned;
    this.tracker = new OffsetTracker(position);
    this.#epochs = new LeaderEpochs(committed?.leaderEpoch ?? -1);
    this.committed = position;
    const ranges = committedRanges(assigned);
    this.#unverifiedMetadata = isOfTopic(ranges, parts.topicId) ? ranges : undefined;
    const { metadata = null } = committed ?? {};
    // A member that reads from a held start removes the metadata with its next commit.
    this.#metadata = ranges || isHeldStart(metadata) ? metadata : null;
  }

  /**
   * Returns false for a record that must not be handed out, because it is completed or in flight.
   */
  receive(record: BrokerRecord): boolean {
    if (this.#unverifiedMetadata) this.#verify(this.#unverifiedMetadata, record);
    else if (this.#verifiedMetadata) this.#checkForTruncation(this.#verifiedMetadata, record);
    this.#epochs.note(record.offset, record.leaderEpoch);
    return this.tracker.receive(record.offset);
  }

  /**
   * Stops committing, because the offsets belong to another log. A commit would hide records of the
   * present one.
   */
  stopCommitting(): void {
    this.#isCommittingStopped = true;
  }

  get isCommittingStopped(): boolean {
    return this.#isCommittingStopped;
  }

  /**
   * Commits the offset at which reading a recreated topic begins, once. A late commit for the
   * deleted topic would otherwise hide records of the new one.
   */
  commitStart(offset: number): void {
    const { topic, partition } = this.assigned;
    this.stopCommitting();
    // The records before belong to the deleted topic, and so do their epochs.
    this.#beginning = { topic, partition, offset, leaderEpoch: -1 };
  }

  /**
   * Commits the assigned position, once, as one that nobody has begun to read from. Without a
   * position nothing is committed.
   */
  commitHeldStart(): void {
    const { topic, partition, position } = this.assigned;
    this.stopCommitting();
    if (position >= 0)
      this.#beginning = {
        topic,
        partition,
        offset: position,
        leaderEpoch: -1,
        metadata: HELD_START,
      };
  }

  /**
   * Returns the offset to commit; undefined if nothing changed since the last commit. `calls` are the
   * failed calls of the first unfinished record, for the next owner.
   */
  commitPoint(calls?: number): OffsetCommit | undefined {
    if (this.#isCommittingStopped) return this.#beginning;
    const { watermark } = this.tracker;
    const metadata = this.#metadataAt(watermark, calls ?? this.#carriedCallsAt(watermark));
    if (watermark <= this.committed && metadata === this.#metadata) return undefined;
    const { topic, partition } = this.assigned;
    const leaderEpoch = this.#epochs.before(watermark);
    return { topic, partition, offset: watermark, leaderEpoch, ...(metadata && { metadata }) };
  }

  confirm(commit: OffsetCommit): void {
    if (commit === this.#beginning) this.#beginning = undefined;
    const { offset, metadata = null } = commit;
    this.committed = offset;
    this.#metadata = metadata;
  }

  #carriedCallsAt(watermark: number): number {
    return this.carriedCalls?.offset === watermark ? this.carriedCalls.calls : 0;
  }

  #metadataAt(watermark: number, calls: number): string | null {
    // The committed metadata stays valid as long as no record was read. Once the watermark has
    // moved without a record at the committed offset, the metadata can never be verified.
    if (this.#unverifiedMetadata && watermark === this.committed) return this.#metadata;
    this.#unverifiedMetadata = undefined;
    const { topicId, budget } = this.parts;
    const { partition } = this.assigned;
    const ranges = this.tracker.completedBeyondGap();
    this.isMetadataFull = false;
    if (ranges.length === 0 && calls === 0) return null;
    const completed = {
      leaderEpoch: this.#epochs.at(watermark),
      lastEpoch: this.#lastEpochOf(ranges),
      topicId,
      ranges,
      calls,
    };
    const encoded = encodeMetadata({ partition, offset: watermark }, completed, budget.units);
    this.isMetadataFull = ranges.length > 0 && budget.units > 0 && !encoded?.isComplete;
    return encoded?.text ?? null;
  }

  /**
   * Returns the last epoch for the metadata. Ranges of an earlier owner that were not read again
   * keep the epoch that the earlier owner committed.
   */
  #lastEpochOf(ranges: readonly OffsetRange[]): number {
    const { lastEpoch = -1 } = this.#verifiedMetadata ?? {};
    return Math.max(this.#epochs.at((ranges.at(-1)?.to ?? 0) - 1), lastEpoch);
  }

  #verify(unverified: CompletedRanges, record: BrokerRecord): void {
    this.#unverifiedMetadata = undefined;
    if (!isOfLog(unverified, record, this.tracker.next)) return;
    const { lastEpoch, ranges, calls = 0 } = unverified;
    if (calls > 0) this.carriedCalls = { offset: record.offset, calls };
    if (ranges.length === 0) return;
    this.tracker.markCompleted(ranges);
    this.#verifiedMetadata = { lastEpoch, end: ranges.at(-1)?.to ?? 0 };
  }

  #checkForTruncation(verified: VerifiedRanges, record: BrokerRecord): void {
    const isTruncated = isTruncatedAt(verified, record);
    if (isTruncated || record.offset >= verified.end) this.#verifiedMetadata = undefined;
    if (isTruncated) this.tracker.unmarkFrom(record.offset);
  }
}
