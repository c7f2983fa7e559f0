import { readFileSync } from 'node:fs';
import { decodeMetadata } from '../../../libs/core/src/intake/commit-metadata.js';

interface Recorded {
  readonly offset: number;
  readonly metadata: string | null;
}

/** A record by its place: `partition/offset`. */
export type Place = string;

/** What a process has begun, done and committed until it was killed, by its journal. */
export class JournalOfLife {
  readonly begun = new Set<Place>();
  readonly done = new Set<Place>();
  /** How many were done after the last commit was sent. */
  readonly unsaid: number;
  /** A commit was under way, or due in this very moment. */
  readonly isCommitting: boolean;
  readonly #acknowledged = new Map<number, Recorded>();

  constructor(path: string) {
    let [unsaid, sinceCommitted, isUnderWay] = [0, 0, false];
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      const [kind, partition, offset, ...metadata] = line.split(' ');
      const place = `${partition}/${offset}`;
      if (kind === 'began') this.begun.add(place);
      if (kind === 'done') {
        this.done.add(place);
        unsaid++;
      }
      if (kind === 'commit') {
        isUnderWay = true;
        unsaid = 0;
      }
      if (kind === 'acknowledged')
        this.#acknowledged.set(Number(partition), {
          offset: Number(offset),
          metadata: metadata.join(' ') || null,
        });
      if (kind === 'committed') {
        isUnderWay = false;
        sinceCommitted = 0;
      } else sinceCommitted++;
    }
    this.unsaid = unsaid;
    this.isCommitting = isUnderWay || sinceCommitted < JUST_COMMITTED;
  }

  /** What the group is sure to know, with what earlier processes have told it. */
  recordedAfter(earlier: Recordings): Recordings {
    return new Recordings([...earlier.all, ...this.#acknowledged]);
  }
}

/** What was done while a commit was under way joins the next one, which follows at once but not in the same line. */
const JUST_COMMITTED = 50;

/** The acknowledged commits of a group: what is done by them must not be handed out again. */
export class Recordings {
  readonly all: ReadonlyMap<number, Recorded>;
  readonly #beyond = new Set<Place>();

  constructor(all: Iterable<readonly [number, Recorded]> = []) {
    this.all = new Map(all);
    for (const [partition, { offset, metadata }] of this.all)
      for (const { from, to } of decodeMetadata(offset, metadata)?.runs ?? [])
        for (let each = from; each < to; each++) this.#beyond.add(`${partition}/${each}`);
  }

  has(place: Place): boolean {
    const [partition, offset] = place.split('/').map(Number) as [number, number];
    return offset < (this.all.get(partition)?.offset ?? 0) || this.#beyond.has(place);
  }
}
