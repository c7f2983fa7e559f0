import { readFileSync } from 'node:fs';
import { decodeMetadata } from '../../../libs/core/src/consuming/commits/commit-metadata.js';

interface Recorded {
  readonly offset: number;
  readonly metadata: string | null;
}

/** A record by its place: `partition/offset`. */
export type Place = string;

/** What of one partition would come again, were the process killed at the end of its journal. */
export interface Exposure {
  /** Begun and not done. */
  readonly running: number;
  /** Done, and in no acknowledged commit. */
  readonly unsaved: number;
  /** Done since the last acknowledged commit was sent, where another one is under way or about to be; else 0. */
  readonly underWay: number;
}

/** What a process has begun, done and committed until it was killed, by its journal. */
export class JournalOfLife {
  readonly begun = new Set<Place>();
  readonly done = new Set<Place>();
  readonly #acknowledged = new Map<number, Recorded>();
  /** Those that it had at the end. What it did in earlier ones was given back with them. */
  readonly #assignments = new Map<number, Assignment>();
  #isUnderWay = false;
  /** Which commit was acknowledged last: the first is 1. */
  readonly #acknowledgedSend: number;

  constructor(path: string) {
    let [sends, acknowledgedSend, isAnswered] = [0, 0, true];
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      const [kind = '', number, offset, ...metadata] = line.split(' ');
      const partition = Number(number);
      const place = `${partition}/${offset}`;
      switch (kind) {
        case 'assigned':
          this.#assignments.set(partition, new Assignment());
          break;
        case 'released':
          this.#assignments.delete(partition);
          break;
        case 'began':
          this.begun.add(place);
          this.#assignments.get(partition)?.running.add(place);
          break;
        case 'done':
          this.done.add(place);
          this.#assignments.get(partition)?.finish(place, sends);
          break;
        case 'commit':
          sends++;
          [this.#isUnderWay, isAnswered] = [true, false];
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
          // Where another one was sent meanwhile, that one is under way.
          if (isAnswered) this.#isUnderWay = false;
          break;
      }
    }
    this.#acknowledgedSend = acknowledgedSend;
  }

  /** Of each partition, by what the group knows for certain. */
  exposures(recorded: Recordings): readonly Exposure[] {
    return [...this.#assignments.values()].map(({ running, done }) => {
      const unsaved = [...done].filter(([place]) => !recorded.has(place));
      const since = [...done.values()].filter((sends) => sends >= this.#acknowledgedSend);
      return {
        running: running.size,
        unsaved: unsaved.length,
        underWay: this.#isUnderWay ? since.length : 0,
      };
    });
  }

  /** What the group is sure to know, with what earlier processes have told it. */
  recordedAfter(earlier: Recordings): Recordings {
    return new Recordings([...earlier.all, ...this.#acknowledged]);
  }
}

class Assignment {
  readonly running = new Set<Place>();
  /** With how many commits had been sent by then. */
  readonly done = new Map<Place, number>();

  /** What an earlier assignment began counts for nothing. */
  finish(place: Place, sends: number): void {
    if (this.running.delete(place)) this.done.set(place, sends);
  }
}

/** The acknowledged commits of a group: what is done by them must not be handed out again. */
export class Recordings {
  readonly all: ReadonlyMap<number, Recorded>;
  readonly #beyond = new Set<Place>();

  constructor(all: Iterable<readonly [number, Recorded]> = []) {
    this.all = new Map(all);
    for (const [partition, { offset, metadata }] of this.all)
      for (const { from, to } of decodeMetadata(offset, metadata)?.ranges ?? [])
        for (let each = from; each < to; each++) this.#beyond.add(`${partition}/${each}`);
  }

  has(place: Place): boolean {
    const [partition, offset] = place.split('/').map(Number) as [number, number];
    return offset < (this.all.get(partition)?.offset ?? 0) || this.#beyond.has(place);
  }
}
