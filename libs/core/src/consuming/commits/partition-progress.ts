import type { AssignedPartition, BrokerRecord, OffsetCommit } from '@nest-event-bus/broker';
import { decodeMetadata, type CompletedRanges, encodeMetadata } from './commit-metadata.js';
import { LeaderEpochs } from './leader-epochs.js';
import type { MetadataBudget } from './metadata-budget.js';
import { OffsetTracker, type OffsetRange } from './offset-tracker.js';

export interface ProgressParts {
  /** null if the broker knows no topic ids. */
  readonly topicId: string | null;
  readonly budget: MetadataBudget;
}

/** Progress of a partition in one assignment, and what the group has stored of it. */
export class PartitionProgress {
  readonly tracker: OffsetTracker;
  readonly #epochs: LeaderEpochs;
  #committed: number;
  #metadata: string | null;
  /**
   * Completed ranges that an earlier owner has committed. The first record shows whether they
   * belong to this log.
   */
  #unverifiedMetadata: CompletedRanges | undefined;
  /**
   * Ranges that were accepted. A record of a later epoch than all of them shows that the log was
   * truncated since.
   */
  #verifiedMetadata: { readonly lastEpoch: number; readonly end: number } | undefined;
  #isCommittingStopped = false;
  #beginning: OffsetCommit | undefined;
  #isMetadataFull = false;

  constructor(
    private readonly assigned: AssignedPartition,
    private readonly parts: ProgressParts,
  ) {
    const { position, committed } = assigned;
    this.tracker = new OffsetTracker(position);
    this.#epochs = new LeaderEpochs(committed?.leaderEpoch ?? -1);
    this.#committed = position;
    const heard =
      committed?.offset === position ? decodeMetadata(position, committed.metadata) : undefined;
    this.#unverifiedMetadata = heard?.topicId === parts.topicId ? heard : undefined;
    this.#metadata = heard ? (committed?.metadata ?? null) : null;
  }

  /** The last known committed offset, or the start position. */
  get committed(): number {
    return this.#committed;
  }

  /**
   * More is completed beyond the gap than the metadata can hold. Nothing new begins until the gap
   * is smaller.
   */
  get isMetadataFull(): boolean {
    return this.#isMetadataFull;
  }

  /** Returns false for a record that must not be handed out. */
  receive(record: BrokerRecord): boolean {
    if (this.#unverifiedMetadata) this.#verify(this.#unverifiedMetadata, record);
    else if (this.#verifiedMetadata) this.#checkForTruncation(this.#verifiedMetadata, record);
    this.#epochs.note(record.offset, record.leaderEpoch);
    return this.tracker.receive(record.offset);
  }

  /**
   * Stops committing, because the offsets belong to another log: a commit would hide records of the
   * present one.
   */
  stopCommitting(): void {
    this.#isCommittingStopped = true;
  }

  /** Commits offset 0 of a recreated topic, once. A late commit for its predecessor would hide records of the new topic. */
  commitBeginning(): void {
    const { topic, partition } = this.assigned;
    this.stopCommitting();
    this.#beginning = { topic, partition, offset: 0 };
  }

  /** Returns what is to be committed; undefined when nothing is new. */
  commitPoint(): OffsetCommit | undefined {
    if (this.#isCommittingStopped) return this.#beginning;
    const { watermark } = this.tracker;
    const metadata = this.#metadataAt(watermark);
    if (watermark <= this.#committed && metadata === this.#metadata) return undefined;
    const { topic, partition } = this.assigned;
    const leaderEpoch = this.#epochs.before(watermark);
    return { topic, partition, offset: watermark, leaderEpoch, ...(metadata && { metadata }) };
  }

  confirm(commit: OffsetCommit): void {
    if (commit === this.#beginning) this.#beginning = undefined;
    const { offset, metadata = null } = commit;
    this.#committed = offset;
    this.#metadata = metadata;
  }

  #metadataAt(watermark: number): string | null {
    // The committed metadata still holds, since no record was read. If the log has none here, none ever will be.
    if (this.#unverifiedMetadata && watermark === this.#committed) return this.#metadata;
    this.#unverifiedMetadata = undefined;
    const { topicId, budget } = this.parts;
    const ranges = this.tracker.completedBeyondGap();
    const completed = {
      leaderEpoch: this.#epochs.at(watermark),
      lastEpoch: this.#lastEpochOf(ranges),
      topicId,
      ranges,
    };
    const encoded = encodeMetadata(watermark, completed, budget.units);
    this.#isMetadataFull = budget.units > 0 && ranges.length > 0 && !encoded?.isComplete;
    return encoded?.text ?? null;
  }

  /** Ranges of an earlier owner that were not read again keep the epoch that he has committed. */
  #lastEpochOf(ranges: readonly OffsetRange[]): number {
    const { lastEpoch = -1 } = this.#verifiedMetadata ?? {};
    return Math.max(this.#epochs.at((ranges.at(-1)?.to ?? 0) - 1), lastEpoch);
  }

  /**
   * A truncated and rewritten log has another epoch at this offset. A compacted log has no record
   * there.
   */
  #verify({ leaderEpoch, lastEpoch, ranges }: CompletedRanges, record: BrokerRecord): void {
    this.#unverifiedMetadata = undefined;
    const { next } = this.tracker;
    if (record.offset !== next || record.leaderEpoch !== leaderEpoch) return;
    this.tracker.markCompleted(ranges);
    this.#verifiedMetadata = { lastEpoch, end: ranges.at(-1)?.to ?? 0 };
  }

  /**
   * Epochs only grow along a log. A record of a later epoch inside the completed ranges shows that
   * those were cut off.
   */
  #checkForTruncation(
    { lastEpoch, end }: { lastEpoch: number; end: number },
    record: BrokerRecord,
  ): void {
    const isBehind = record.offset >= end;
    const isOfAnotherLog = !isBehind && record.leaderEpoch > lastEpoch;
    if (isBehind || isOfAnotherLog) this.#verifiedMetadata = undefined;
    if (isOfAnotherLog) this.tracker.unmarkFrom(record.offset);
  }
}
