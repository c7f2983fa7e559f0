import type { OffsetCommit } from '@nest-event-bus/broker';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { decodeMetadata } from '../../../../libs/core/src/consuming/commits/commit-metadata.js';

/** An assignment of one partition to one member, from the assignment to its end. */
export class AssignedPartition {
  /** Started here, and neither done nor failed. */
  readonly running = new Set<number>();
  readonly failed = new Set<number>();
  /** Done in a slice, but in no commit that was sent: the slice may not be complete. */
  readonly uncommitted = new Set<number>();
  /** Running at the revocation, or when its member was asked to leave. */
  readonly inFlight = new Set<number>();
  /** How many of the in-flight records were delivered again elsewhere. */
  redelivered = 0;
  isEnding = false;
  /** Set after a revocation, when records that had been delivered before have started. */
  isRevoked = false;
  hasEnded = false;
  /** Lost without a revocation: done but uncommitted records are delivered again, too. */
  isLost = false;

  constructor(
    readonly partition: number,
    readonly takesSlices = false,
  ) {}

  /** Marks running records as in flight: they may be delivered again. */
  end(): void {
    this.isEnding = true;
    for (const offset of [...this.running, ...this.uncommitted]) this.inFlight.add(offset);
  }

  /** Starts a revocation. Records that were delivered just before may not have reached their handler. */
  revoke(): void {
    this.end();
    realRuntime.defer(() => (this.isRevoked = true));
  }
}

interface WrittenRecord {
  /** Offset of the previous record with the same key in this partition. */
  readonly previous: number | undefined;
  isDone: boolean;
  /** The assignment in which it was started last. */
  assignment?: AssignedPartition;
}

/** Tracks where each record was started and done, and collects violations of delivery guarantees. */
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

  /** Adds a record. No other writer exists, so its offset is known. */
  write(partition: number, key: string): void {
    const { records } = this.#of(partition);
    records.push({ previous: this.#lastOfKey.get(key), isDone: false });
    this.#lastOfKey.set(key, records.length - 1);
  }

  get written(): number {
    return this.#partitions.reduce((sum, { records }) => sum + records.length, 0);
  }

  /** First offset of each partition that is not done. */
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

  /** Reports a started record. `slice` has the offsets before it in its slice. */
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
    // The result is ignored, because the record is delivered again.
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

  /** Reports that another record of its slice has failed, so this one is delivered again. */
  returnToPartition(assignment: AssignedPartition | undefined, offset: number): void {
    if (assignment?.running.delete(offset)) assignment.failed.add(offset);
  }

  /** Reports a commit, which must not pass an unfinished record nor mark one as done. */
  commit({ partition, offset, metadata = null }: OffsetCommit): void {
    const { completedUpTo, records } = this.#of(partition);
    if (offset > completedUpTo)
      this.#report(`a commit of ${partition}/${offset} passes ${completedUpTo}`);
    for (const { partition: other, uncommitted: unsaved } of this.assignments)
      for (const each of other === partition ? unsaved : [])
        if (each < offset) unsaved.delete(each);
    for (const { from, to } of decodeMetadata(offset, metadata)?.ranges ?? [])
      for (let each = from; each < to; each++)
        if (!records[each]?.isDone) this.#report(`a commit says that ${partition}/${each} is done`);
  }

  /** A record that is delivered again must have been in flight at the revocation, or have failed. */
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
