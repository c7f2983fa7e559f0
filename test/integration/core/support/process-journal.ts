import { readFileSync } from 'node:fs';
import { decodeMetadata } from '../../../../libs/core/src/consuming/commits/commit-metadata-format.js';

interface StoredOffset {
  readonly offset: number;
  readonly metadata: string | null;
}

/** A record as `partition/offset`. */
export type RecordPosition = string;

/** Records of one partition that would be delivered again if the process were killed at the end of its journal. */
export interface UncommittedWork {
  /** Records that were started and are not finished. */
  readonly running: number;
  /** Records that are finished and in no acknowledged commit. */
  readonly uncommitted: number;
  /**
   * Records that were finished since the last acknowledged commit was sent, if another commit is
   * pending or about to be sent. Otherwise 0.
   */
  readonly commitPending: number;
}

/**
 * Records that a process had started, finished and committed before it was killed, read from its
 * journal.
 */
export class ProcessJournal {
  readonly started = new Set<RecordPosition>();
  readonly done = new Set<RecordPosition>();
  readonly #acknowledged = new Map<number, StoredOffset>();
  /**
   * Assignments at the end of the journal. Earlier assignments have ended, so their records are not
   * kept.
   */
  readonly #assignments = new Map<number, Assignment>();
  #isCommitPending = false;
  /** Number of the commit that was acknowledged last. The first commit is 1. */
  readonly #acknowledgedSend: number;

  constructor(path: string) {
    let [sends, acknowledgedSend, isAnswered] = [0, 0, true];
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      const [kind = '', number, offset, ...metadata] = line.split(' ');
      const partition = Number(number);
      const position = `${partition}/${offset}`;
      switch (kind) {
        case 'assigned':
          this.#assignments.set(partition, new Assignment());
          break;
        case 'released':
          this.#assignments.delete(partition);
          break;
        case 'began':
          this.started.add(position);
          this.#assignments.get(partition)?.running.add(position);
          break;
        case 'done':
          this.done.add(position);
          this.#assignments.get(partition)?.finish(position, sends);
          break;
        case 'commit':
          sends++;
          [this.#isCommitPending, isAnswered] = [true, false];
          break;
        case 'acknowledged':
          this.#acknowledged.set(partition, {
            offset: Number(offset),
            metadata: metadata.join(' ') || null,
          });
          break;
        case 'committed':
          [acknowledgedSend, isAnswered] = [sends, true];
          break;
        case 'settled':
          // The commit is no longer pending, unless another commit was sent after it.
          if (isAnswered) this.#isCommitPending = false;
          break;
      }
    }
    this.#acknowledgedSend = acknowledgedSend;
  }

  /**
   * Returns the uncommitted records of each partition. `acknowledged` contains the commits of the
   * group.
   */
  uncommittedWork(acknowledged: AcknowledgedCommits): readonly UncommittedWork[] {
    return [...this.#assignments.values()].map(({ running, done }) => {
      const uncommitted = [...done].filter(([position]) => !acknowledged.has(position));
      const since = [...done.values()].filter((sends) => sends >= this.#acknowledgedSend);
      return {
        running: running.size,
        uncommitted: uncommitted.length,
        commitPending: this.#isCommitPending ? since.length : 0,
      };
    });
  }

  /**
   * Returns the commits that the group has acknowledged to this process and to earlier processes.
   */
  commitsAfter(earlier: AcknowledgedCommits): AcknowledgedCommits {
    return new AcknowledgedCommits([...earlier.all, ...this.#acknowledged]);
  }
}

class Assignment {
  readonly running = new Set<RecordPosition>();
  /** Finished records, each with the number of commits that had been sent when it was finished. */
  readonly done = new Map<RecordPosition, number>();

  /** Marks a record as finished. Ignores records that were started in an earlier assignment. */
  finish(position: RecordPosition, sends: number): void {
    if (this.running.delete(position)) this.done.set(position, sends);
  }
}

/** Acknowledged commits of a group: records that they contain must not be delivered again. */
export class AcknowledgedCommits {
  readonly all: ReadonlyMap<number, StoredOffset>;
  readonly #beyond = new Set<RecordPosition>();

  constructor(all: Iterable<readonly [number, StoredOffset]> = []) {
    this.all = new Map(all);
    for (const [partition, { offset, metadata }] of this.all)
      for (const { from, to } of decodeMetadata({ partition, offset }, metadata)?.ranges ?? [])
        for (let each = from; each < to; each++) this.#beyond.add(`${partition}/${each}`);
  }

  has(position: RecordPosition): boolean {
    const [partition, offset] = position.split('/').map(Number) as [number, number];
    return offset < (this.all.get(partition)?.offset ?? 0) || this.#beyond.has(position);
  }
}
