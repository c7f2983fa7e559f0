import fc from 'fast-check';
import { OffsetTracker } from './offset-tracker.js';

describe('the watermark of a partition', () => {
  it('is where it started, until something is received and done', () => {
    expect(new OffsetTracker(7).watermark).toBe(7);
  });

  it('stands at the first unfinished record, whatever was done behind it', () => {
    const tracker = received(0, [0, 1, 2, 3]);
    tracker.complete(1);
    tracker.complete(3);
    expect(tracker.watermark).toBe(0);
    tracker.complete(0);
    expect(tracker.watermark).toBe(2);
    tracker.complete(2);
    expect(tracker.watermark).toBe(4);
  });

  it('passes offsets that are not in the log', () => {
    const tracker = received(0, [3, 9]);
    tracker.complete(3);
    expect(tracker.watermark).toBe(9);
    tracker.complete(9);
    expect(tracker.watermark).toBe(10);
    tracker.reach(12);
    expect(tracker.watermark).toBe(12);
  });

  it('does not pass a record that was given back, nor what would come behind it', () => {
    const tracker = received(0, [0, 1, 2, 3]);
    tracker.complete(0);
    tracker.rewindTo(2);
    tracker.complete(1);
    expect([tracker.watermark, tracker.next]).toEqual([2, 2]);
  });

  it('lets what is done behind a rewind not be received again', () => {
    const tracker = received(0, [0, 1, 2]);
    tracker.complete(1);
    tracker.rewindTo(0);
    expect([0, 1, 2].map((offset) => tracker.receive(offset))).toEqual([true, false, true]);
    tracker.complete(0);
    expect(tracker.watermark).toBe(2);
  });

  it('never receives a record that is at work', () => {
    expect(received(0, [0, 1]).receive(1)).toBe(false);
  });

  it('agrees with a plain model, whatever happens in whatever order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const tracker = new OffsetTracker(0);
        const model = new Model();
        for (const { kind, pick } of steps) {
          if (kind === 'receive') {
            const offset = tracker.next + (pick % 4);
            expect(tracker.receive(offset)).toBe(model.receive(offset));
          } else if (kind === 'complete') {
            const offset = [...model.unfinished][pick % Math.max(1, model.unfinished.size)];
            if (offset === undefined) continue;
            tracker.complete(offset);
            model.complete(offset);
          } else {
            const offset = [...model.unfinished][pick % Math.max(1, model.unfinished.size)];
            if (offset === undefined) continue;
            tracker.rewindTo(offset);
            model.rewindTo(offset);
          }
          expect(tracker.watermark).toBe(model.watermark);
          expect(tracker.next).toBe(model.next);
          expect(tracker.unfinished).toBe(model.unfinished.size);
        }
      }),
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
  kind: fc.constantFrom('receive', 'receive', 'receive', 'complete', 'complete', 'rewind'),
  pick: fc.nat(50),
});

/** All that was ever done is remembered; everything is looked up the slow way. */
class Model {
  next = 0;
  readonly done = new Set<number>();
  unfinished = new Set<number>();

  get watermark(): number {
    return Math.min(this.next, ...this.unfinished);
  }

  receive(offset: number): boolean {
    this.next = offset + 1;
    if (this.done.has(offset)) return false;
    this.unfinished.add(offset);
    return true;
  }

  complete(offset: number): void {
    this.unfinished.delete(offset);
    this.done.add(offset);
  }

  rewindTo(offset: number): void {
    this.unfinished = new Set([...this.unfinished].filter((each) => each < offset));
    this.next = Math.min(this.next, offset);
  }
}

function received(start: number, offsets: readonly number[]): OffsetTracker {
  const tracker = new OffsetTracker(start);
  for (const offset of offsets) tracker.receive(offset);
  return tracker;
}
