import type { OffsetCommit } from '@nest-event-bus/broker';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { decodeMetadata } from '../../../libs/core/src/consuming/commits/commit-metadata.js';

/** One assignment of one partition to one member, from the word of the group to its end. */
export class Tenure {
  /** Begun here, and neither done nor failed. */
  readonly atWork = new Set<number>();
  readonly failed = new Set<number>();
  /** Done in a slice, and in no commit that was sent: the slice may not be over yet. */
  readonly unsaved = new Set<number>();
  /** At work when it was asked back, or when its member was told to leave. */
  readonly inFlight = new Set<number>();
  /** How many of those came again elsewhere. */
  again = 0;
  isEnding = false;
  /** It was asked back, and what had been handed out by then has begun. */
  isRevoked = false;
  isOver = false;
  /** Nobody asked for it: what was done and not committed comes again, too. */
  isLost = false;

  constructor(
    readonly partition: number,
    readonly takesSlices = false,
  ) {}

  /** What is at work from here on may come again. */
  end(): void {
    this.isEnding = true;
    for (const offset of [...this.atWork, ...this.unsaved]) this.inFlight.add(offset);
  }

  /** It is asked back. What was handed out a moment ago may be on its way to its handler. */
  revoke(): void {
    this.end();
    realRuntime.defer(() => (this.isRevoked = true));
  }
}

interface Written {
  /** The one before it with the same key, in the same partition. */
  readonly previous: number | undefined;
  isDone: boolean;
  /** Where it was begun last. */
  tenure?: Tenure;
}

/** Knows of every record where it was begun and done, and writes down every promise that is broken. */
export class StormLedger {
  readonly broken: string[] = [];
  readonly tenures: Tenure[] = [];
  lateCompletions = 0;
  failures = 0;
  readonly #partitions: { readonly records: Written[]; low: number }[];
  readonly #lastOfKey = new Map<string, number>();

  constructor(partitions: number) {
    this.#partitions = Array.from({ length: partitions }, () => ({ records: [], low: 0 }));
  }

  /** Nobody else writes, so its offset is known. */
  write(partition: number, key: string): void {
    const { records } = this.#of(partition);
    records.push({ previous: this.#lastOfKey.get(key), isDone: false });
    this.#lastOfKey.set(key, records.length - 1);
  }

  get written(): number {
    return this.#partitions.reduce((sum, { records }) => sum + records.length, 0);
  }

  /** How many are done up to the first that is not, in each partition. */
  get lows(): readonly number[] {
    return this.#partitions.map(({ low }) => low);
  }

  get missing(): number {
    return this.#partitions.reduce((sum, { records, low }) => sum + records.length - low, 0);
  }

  end(partition: number): number {
    return this.#of(partition).records.length;
  }

  open(partition: number, takesSlices = false): Tenure {
    const tenure = new Tenure(partition, takesSlices);
    this.tenures.push(tenure);
    return tenure;
  }

  /** With all of a slice before it. */
  begin(
    tenure: Tenure | undefined,
    partition: number,
    offset: number,
    slice: readonly number[] = [],
  ): void {
    const name = `${partition}/${offset}`;
    if (!tenure || tenure.isOver) return this.#complain(`${name} was begun by a member without it`);
    if (tenure.isRevoked) this.#complain(`${name} was begun after its partition was asked back`);
    const { records } = this.#of(partition);
    const record = records[offset] as Written;
    const { previous, tenure: earlier } = record;
    if (previous !== undefined && !records[previous]?.isDone && !slice.includes(previous))
      this.#complain(`${name} was begun before ${previous} of its key was done`);
    if (earlier) this.#judgeAgain(name, offset, earlier, tenure);
    record.tenure = tenure;
    tenure.failed.delete(offset);
    tenure.atWork.add(offset);
    if (tenure.isEnding) tenure.inFlight.add(offset);
  }

  finish(tenure: Tenure | undefined, offset: number): void {
    if (!tenure?.atWork.delete(offset)) return;
    // Whatever it did counts for nothing: it is delivered again.
    if (tenure.isOver) return void this.lateCompletions++;
    if (tenure.takesSlices) tenure.unsaved.add(offset);
    const partition = this.#of(tenure.partition);
    (partition.records[offset] as Written).isDone = true;
    while (partition.records[partition.low]?.isDone) partition.low++;
  }

  fail(tenure: Tenure | undefined, offset: number): void {
    this.failures++;
    this.giveBack(tenure, offset);
  }

  /** Another record of its slice has failed: it comes again. */
  giveBack(tenure: Tenure | undefined, offset: number): void {
    if (tenure?.atWork.delete(offset)) tenure.failed.add(offset);
  }

  /** No commit may pass a record that nobody has finished in time, nor say of one that it is done. */
  commit({ partition, offset, metadata = null }: OffsetCommit): void {
    const { low, records } = this.#of(partition);
    if (offset > low) this.#complain(`a commit of ${partition}/${offset} passes ${low}`);
    for (const { partition: other, unsaved } of this.tenures)
      for (const each of other === partition ? unsaved : [])
        if (each < offset) unsaved.delete(each);
    for (const { from, to } of decodeMetadata(offset, metadata)?.ranges ?? [])
      for (let each = from; each < to; each++)
        if (!records[each]?.isDone)
          this.#complain(`a commit says that ${partition}/${each} is done`);
  }

  /** What is delivered again was at work when it was asked back, or had failed. */
  #judgeAgain(name: string, offset: number, earlier: Tenure, tenure: Tenure): void {
    if (earlier.failed.has(offset)) return;
    if (earlier === tenure) return this.#complain(`${name} came twice in one assignment`);
    earlier.again++;
    if (!earlier.isLost && !earlier.inFlight.has(offset))
      this.#complain(`${name} came again without having been in flight at the revoke`);
  }

  #complain(what: string): void {
    this.broken.push(what);
  }

  #of(partition: number) {
    return this.#partitions[partition] as { readonly records: Written[]; low: number };
  }
}
