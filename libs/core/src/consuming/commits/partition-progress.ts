import type { AssignedPartition, BrokerRecord, OffsetCommit } from '@nest-event-bus/broker';
import { decodeMetadata, type CompletedRanges, encodeMetadata } from './commit-metadata.js';
import { LeaderEpochs } from './leader-epochs.js';
import type { MetadataBudget } from './metadata-budget.js';
import { OffsetTracker, type OffsetRange } from './offset-tracker.js';

export interface ProgressParts {
  /** null where the broker has none. */
  readonly topicId: string | null;
  readonly budget: MetadataBudget;
}

/** How far a partition is in one assignment, and what the group knows of it. */
export class PartitionProgress {
  readonly tracker: OffsetTracker;
  readonly #epochs: LeaderEpochs;
  #committed: number;
  #metadata: string | null;
  /** What an earlier owner says is done, until the first record shows whether it speaks of this log. */
  #unverifiedMetadata: CompletedRanges | undefined;
  /** It is believed; a record that was written later than all that it speaks of shows that the log was cut since. */
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

  /** What was last known to be committed, or where it started. */
  get committed(): number {
    return this.#committed;
  }

  /** More is done beyond the gap than a commit can say: nothing new is to begin until that is less. */
  get isMetadataFull(): boolean {
    return this.#isMetadataFull;
  }

  /** False for a record that must not be handed out. */
  receive(record: BrokerRecord): boolean {
    if (this.#unverifiedMetadata) this.#verify(this.#unverifiedMetadata, record);
    else if (this.#verifiedMetadata) this.#checkForTruncation(this.#verifiedMetadata, record);
    this.#epochs.note(record.offset, record.leaderEpoch);
    return this.tracker.receive(record.offset);
  }

  /** The offsets belong to another log: a commit would hide records of the present one. */
  stopCommitting(): void {
    this.#isCommittingStopped = true;
  }

  /** Commits offset 0 of a recreated topic, once. A late commit for its predecessor would hide records of the new topic. */
  commitBeginning(): void {
    const { topic, partition } = this.assigned;
    this.stopCommitting();
    this.#beginning = { topic, partition, offset: 0 };
  }

  /** What is to be committed; undefined when nothing is new. */
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
    // As true as it was, while nothing has come; without a record there, it never will be.
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

  /** What an earlier owner has said of records that were not read since is still what is known of them. */
  #lastEpochOf(ranges: readonly OffsetRange[]): number {
    const { lastEpoch = -1 } = this.#verifiedMetadata ?? {};
    return Math.max(this.#epochs.at((ranges.at(-1)?.to ?? 0) - 1), lastEpoch);
  }

  /** A log that was cut and written anew has another epoch there; one that was compacted has no record there. */
  #verify({ leaderEpoch, lastEpoch, ranges }: CompletedRanges, record: BrokerRecord): void {
    this.#unverifiedMetadata = undefined;
    const { next } = this.tracker;
    if (record.offset !== next || record.leaderEpoch !== leaderEpoch) return;
    this.tracker.markCompleted(ranges);
    this.#verifiedMetadata = { lastEpoch, end: ranges.at(-1)?.to ?? 0 };
  }

  /** Epochs only grow along a log: what is done there was written before, and cut off since. */
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
