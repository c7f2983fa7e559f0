import type { OffsetCommit } from '@nest-event-bus/broker';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { decodeMetadata } from '../../../../libs/core/src/consuming/commits/commit-metadata-format.js';

/** An assignment of one partition to one member, from its start to its end. */
export class AssignedPartition {
  /** Records that were started in this assignment, and are neither finished nor failed. */
  readonly running = new Set<number>();
  readonly failed = new Set<number>();
  /**
   * Records that were finished in a slice but are in no sent commit, because the slice may not be
   * complete.
   */
  readonly uncommitted = new Set<number>();
  /** Records that were running at the revocation, or when the member was asked to leave. */
  readonly inFlight = new Set<number>();
  /** Number of in-flight records that were delivered again in another assignment. */
  redelivered = 0;
  isEnding = false;
  /**
   * True after a revocation, as soon as the records that had been delivered before it have started.
   */
  isRevoked = false;
  hasEnded = false;
  /**
   * True if the partition was lost without a revocation. Then finished but uncommitted records are
   * delivered again, too.
   */
  isLost = false;

  constructor(
    readonly partition: number,
    readonly takesSlices = false,
  ) {}

  /** Marks running records as in flight, because they may be delivered again. */
  end(): void {
    this.isEnding = true;
    for (const offset of [...this.running, ...this.uncommitted]) this.inFlight.add(offset);
  }

  /**
   * Starts a revocation. Records that were delivered directly before it may not have reached their
   * handler.
   */
  revoke(): void {
    this.end();
    realRuntime.defer(() => (this.isRevoked = true));
  }
}

interface WrittenRecord {
  /** Offset of the previous record with the same key in this partition. */
  readonly previous: number | undefined;
  isDone: boolean;
  /** The assignment in which the record was started last. */
  assignment?: AssignedPartition;
}

/**
 * Tracks where each record was started and finished, and collects violations of the delivery
 * guarantees.
 */
export class DeliveryAudit {
  readonly violations: string[] = [];
  readonly assignments: AssignedPartition[] = [];
  lateCompletions = 0;
  failures = 0;
  readonly #partitions: { readonly records: WrittenRecord[]; completedUpTo: number }[];
  readonly #lastOfKey = new Map<string, number>();

  constructor(partitions: number) {
    this.#partitions = Array.from({ length: partitions }, () => ({
      records: [],
      completedUpTo: 0,
    }));
  }

  /** Adds a record. The test is the only writer, so the offset of the record is known. */
  write(partition: number, key: string): void {
    const { records } = this.#of(partition);
    records.push({ previous: this.#lastOfKey.get(key), isDone: false });
    this.#lastOfKey.set(key, records.length - 1);
  }

  get written(): number {
    return this.#partitions.reduce((sum, { records }) => sum + records.length, 0);
  }

  /** The first offset of each partition that is not finished. */
  get completedUpTo(): readonly number[] {
    return this.#partitions.map(({ completedUpTo }) => completedUpTo);
  }

  get missing(): number {
    return this.#partitions.reduce(
      (sum, { records, completedUpTo }) => sum + records.length - completedUpTo,
      0,
    );
  }

  end(partition: number): number {
    return this.#of(partition).records.length;
  }

  assign(partition: number, takesSlices = false): AssignedPartition {
    const assignment = new AssignedPartition(partition, takesSlices);
    this.assignments.push(assignment);
    return assignment;
  }

  /** Reports that a record was started. `slice` contains the offsets before it in its slice. */
  begin(
    assignment: AssignedPartition | undefined,
    partition: number,
    offset: number,
    slice: readonly number[] = [],
  ): void {
    const name = `${partition}/${offset}`;
    if (!assignment || assignment.hasEnded)
      return this.#report(`${name} was started by a member without its partition`);
    if (assignment.isRevoked) this.#report(`${name} was started after its partition was revoked`);
    const { records } = this.#of(partition);
    const record = records[offset] as WrittenRecord;
    const { previous, assignment: previousAssignment } = record;
    if (previous !== undefined && !records[previous]?.isDone && !slice.includes(previous))
      this.#report(`${name} was started before ${previous} of its key was done`);
    if (previousAssignment) this.#checkRedelivery(name, offset, previousAssignment, assignment);
    record.assignment = assignment;
    assignment.failed.delete(offset);
    assignment.running.add(offset);
    if (assignment.isEnding) assignment.inFlight.add(offset);
  }

  finish(assignment: AssignedPartition | undefined, offset: number): void {
    if (!assignment?.running.delete(offset)) return;
    // Ignores the result after the end of the assignment, because the record is delivered again.
    if (assignment.hasEnded) return void this.lateCompletions++;
    if (assignment.takesSlices) assignment.uncommitted.add(offset);
    const partition = this.#of(assignment.partition);
    (partition.records[offset] as WrittenRecord).isDone = true;
    while (partition.records[partition.completedUpTo]?.isDone) partition.completedUpTo++;
  }

  fail(assignment: AssignedPartition | undefined, offset: number): void {
    this.failures++;
    this.returnToPartition(assignment, offset);
  }

  /**
   * Reports that another record of the slice has failed, so that this record is delivered again.
   */
  returnToPartition(assignment: AssignedPartition | undefined, offset: number): void {
    if (assignment?.running.delete(offset)) assignment.failed.add(offset);
  }

  /** Reports a commit. It must neither pass an unfinished record nor mark one as completed. */
  commit({ partition, offset, metadata = null }: OffsetCommit): void {
    const { completedUpTo, records } = this.#of(partition);
    if (offset > completedUpTo)
      this.#report(`a commit of ${partition}/${offset} passes ${completedUpTo}`);
    for (const { partition: other, uncommitted: unsaved } of this.assignments)
      for (const each of other === partition ? unsaved : [])
        if (each < offset) unsaved.delete(each);
    for (const { from, to } of decodeMetadata({ partition, offset }, metadata)?.ranges ?? [])
      for (let each = from; each < to; each++)
        if (!records[each]?.isDone) this.#report(`a commit says that ${partition}/${each} is done`);
  }

  /**
   * Checks that a record that is delivered again has failed, or was in flight at the revocation.
   */
  #checkRedelivery(
    name: string,
    offset: number,
    previousAssignment: AssignedPartition,
    assignment: AssignedPartition,
  ): void {
    if (previousAssignment.failed.has(offset)) return;
    if (previousAssignment === assignment)
      return this.#report(`${name} was delivered twice in one assignment`);
    previousAssignment.redelivered++;
    if (!previousAssignment.isLost && !previousAssignment.inFlight.has(offset))
      this.#report(`${name} was delivered again without having been in flight at the revocation`);
  }

  #report(what: string): void {
    this.violations.push(what);
  }

  #of(partition: number) {
    return this.#partitions[partition] as {
      readonly records: WrittenRecord[];
      completedUpTo: number;
    };
  }
}
