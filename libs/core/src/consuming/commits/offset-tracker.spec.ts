import fc from 'fast-check';
import { OffsetTracker } from './offset-tracker.js';

describe('OffsetTracker', () => {
  it('starts with the watermark at the start position', () => {
    expect(new OffsetTracker(7).watermark).toBe(7);
  });

  it('never moves the watermark past an unfinished record', () => {
    const tracker = received(0, [0, 1, 2, 3]);
    tracker.complete(1);
    tracker.complete(3);
    expect(tracker.watermark).toBe(0);
    tracker.complete(0);
    expect(tracker.watermark).toBe(2);
    tracker.complete(2);
    expect(tracker.watermark).toBe(4);
  });

  it('moves the watermark past offsets that are missing from the log', () => {
    const tracker = received(0, [3, 9]);
    tracker.complete(3);
    expect(tracker.watermark).toBe(9);
    tracker.complete(9);
    expect(tracker.watermark).toBe(10);
    tracker.advanceTo(12);
    expect(tracker.watermark).toBe(12);
  });

  it('does not move past a record that was given back, nor past later ones', () => {
    const tracker = received(0, [0, 1, 2, 3]);
    tracker.complete(0);
    tracker.rewindTo(2);
    tracker.complete(1);
    expect([tracker.watermark, tracker.next]).toEqual([2, 2]);
  });

  it('does not receive records again that completed behind a rewind', () => {
    const tracker = received(0, [0, 1, 2]);
    tracker.complete(1);
    tracker.rewindTo(0);
    expect([0, 1, 2].map((offset) => tracker.receive(offset))).toEqual([true, false, true]);
    tracker.complete(0);
    expect(tracker.watermark).toBe(2);
  });

  it('never receives a record that is in flight', () => {
    expect(received(0, [0, 1]).receive(1)).toBe(false);
  });

  it('separates completed ranges beyond the gap from unfinished records', () => {
    const tracker = received(0, [0, 1, 2, 3, 4, 6]);
    for (const offset of [1, 2, 4, 6]) tracker.complete(offset);
    expect(tracker.completedBeyondGap()).toEqual([
      { from: 1, to: 3 },
      { from: 4, to: 7 },
    ]);
    expect(tracker.distanceBeyondGap).toBe(7);
    tracker.rewindTo(0);
    expect(tracker.completedBeyondGap()).toHaveLength(2);
    tracker.receive(0);
    tracker.complete(0);
    expect([tracker.watermark, tracker.completedBeyondGap()]).toEqual([3, [{ from: 4, to: 7 }]]);
  });

  it('does not count offsets that are only missing from the log as completed', () => {
    const tracker = received(0, [0, 3, 7]);
    expect([tracker.completedBeyondGap(), tracker.distanceBeyondGap]).toEqual([[], 0]);
    tracker.advanceTo(12);
    tracker.complete(3);
    expect(tracker.completedBeyondGap()).toEqual([{ from: 1, to: 4 }]);
  });

  it('accepts the completed ranges of an earlier owner', () => {
    const tracker = new OffsetTracker(10);
    tracker.markCompleted([
      { from: 11, to: 13 },
      { from: 20, to: 22 },
    ]);
    expect([10, 13, 20, 21, 22].map((offset) => tracker.receive(offset))).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
    expect(received(0, []).completedBeyondGap()).toEqual([]);
  });

  it('rewinds around records in flight, which are not received again', () => {
    const tracker = received(0, [0, 1, 2, 3, 4]);
    tracker.rewindTo(1, new Set([2, 4]));
    tracker.complete(4);
    expect([tracker.watermark, tracker.next, tracker.unfinished]).toEqual([0, 1, 2]);
    expect([1, 2, 3, 4].map((offset) => tracker.receive(offset))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    for (const offset of [0, 1, 2, 3]) tracker.complete(offset);
    expect(tracker.watermark).toBe(5);
  });

  it('agrees with a plain model for any sequence of operations', () => {
    fc.assert(
      fc.property(gaps, fc.array(step, { maxLength: 150 }), (holes, steps) => {
        const model = new Model(holes);
        for (const { kind, pick } of steps) model.take(kind, pick);
        expect(model.broken).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('stays exact and small over many records', () => {
    const tracker = new OffsetTracker(0);
    for (let offset = 0; offset < 10_000; offset++) {
      tracker.receive(offset);
      if (offset >= 5) tracker.complete(offset - 5);
    }
    expect([tracker.watermark, tracker.unfinished]).toEqual([9_995, 5]);
  });
});

const step = fc.record({
  kind: fc.constantFrom(
    'read',
    'read',
    'read',
    'start',
    'start',
    'complete',
    'complete',
    'give back',
    'hold',
    'restart',
  ),
  pick: fc.nat(50),
} as const);

/** Distances between the offsets of a log. */
const gaps = fc.array(fc.constantFrom(1, 1, 1, 2, 4), { minLength: 40, maxLength: 40 });

/** A log with a reader and handlers that remembers everything and computes results the slow way. */
class Model {
  readonly broken: string[] = [];
  readonly #log: readonly number[];
  #tracker = new OffsetTracker(0);
  #pending: number[] = [];
  #atWork: number[] = [];
  readonly #done = new Set<number>();

  constructor(gapsOfLog: readonly number[]) {
    let offset = -1;
    this.#log = gapsOfLog.map((gap) => (offset += gap));
  }

  take(kind: string, pick: number): void {
    switch (kind) {
      case 'read':
        this.#read(1 + (pick % 4));
        return this.#check();
      case 'start':
        this.#atWork.push(...this.#pending.splice(pick % (this.#pending.length || 1), 1));
        return;
      case 'complete':
        for (const offset of this.#atWork.splice(pick % (this.#atWork.length || 1), 1)) {
          this.#done.add(offset);
          this.#tracker.complete(offset);
        }
        return this.#check();
      case 'give back': {
        const [offset] = this.#atWork.splice(pick % (this.#atWork.length || 1), 1);
        if (offset === undefined) return;
        const first = Math.min(offset, ...this.#pending);
        this.#pending = [];
        this.#tracker.rewindTo(first, new Set(this.#atWork));
        return this.#check();
      }
      case 'hold':
        if (this.#pending.length > 0)
          this.#tracker.rewindTo(Math.min(...this.#pending), new Set(this.#atWork));
        this.#pending = [];
        return this.#check();
      default: {
        const { watermark } = this.#tracker;
        const ranges = this.#tracker.completedBeyondGap();
        this.#tracker = new OffsetTracker(watermark);
        this.#tracker.markCompleted(ranges);
        [this.#pending, this.#atWork] = [[], []];
        return this.#check();
      }
    }
  }

  #read(count: number): void {
    const from = this.#tracker.next;
    for (const offset of this.#log.filter((each) => each >= from).slice(0, count)) {
      const isWanted = !this.#done.has(offset) && !this.#atWork.includes(offset);
      if (offset < this.#tracker.next && isWanted) this.broken.push(`${offset} is passed over`);
      if (this.#tracker.receive(offset) !== isWanted) this.broken.push(`${offset} is ${isWanted}`);
      if (isWanted) this.#pending.push(offset);
      this.#tracker.advanceTo(offset + 1);
    }
  }

  #check(): void {
    const first = this.#log.find((offset) => !this.#done.has(offset)) ?? Infinity;
    const { watermark } = this.#tracker;
    if (watermark > first) this.broken.push(`${watermark} passes ${first}`);
    const isBehind = this.#log.some((offset) => offset >= watermark && offset < first);
    if (isBehind) this.broken.push(`${watermark} stays behind ${first}`);
    const recorded = this.#tracker.completedBeyondGap();
    for (const offset of this.#log) {
      const isDone = offset < watermark || this.#done.has(offset);
      const isRecorded =
        offset < watermark || recorded.some(({ from, to }) => from <= offset && offset < to);
      if (isDone !== isRecorded) this.broken.push(`${offset}: done ${isDone}, said ${isRecorded}`);
    }
  }
}

function received(start: number, offsets: readonly number[]): OffsetTracker {
  const tracker = new OffsetTracker(start);
  for (const offset of offsets) tracker.receive(offset);
  return tracker;
}
