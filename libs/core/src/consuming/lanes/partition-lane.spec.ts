import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { DeliveryAbortedException } from '../../errors/delivery-errors.js';
import { reconciles, watched } from '../session/consuming-test-bed.spec-support.js';
import { LaneTestBed, recordsOf } from '../session/lane-test-bed.spec-support.js';

describe('PartitionLane', () => {
  it('hands out records synchronously while handlers return at once, and reports once per slice', () => {
    const bench = new LaneTestBed();
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1, 2, 3, 4), 0, 5, 0);
    lane.processPending();
    expect([bench.handled, bench.done, lane.tracker.watermark]).toEqual([[0, 1, 2, 3, 4], 2, 5]);
    expect(lane.commitPoint()).toMatchObject({ offset: 5, leaderEpoch: 0 });
    lane.confirm({ topic: 't', partition: 0, offset: 5 });
    expect(lane.commitPoint()).toBeUndefined();
  });

  it('enqueues only its own part of the polled records', () => {
    const bench = new LaneTestBed();
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1, 2, 3), 1, 3, 0);
    lane.processPending();
    expect(bench.handled).toEqual([1, 2]);
  });

  it('finishes running handlers in a pause, drops the buffered records, and resumes after them', async () => {
    const gate = new Deferred<Outcome>();
    const bench = new LaneTestBed((offset) => (offset === 1 ? gate.promise : succeeded));
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1, 2, 3), 0, 4, 0);
    lane.processPending();
    lane.pause();
    expect([lane.backlog, lane.tracker.next, lane.tracker.watermark]).toEqual([0, 2, 1]);
    lane.resume();
    lane.enqueue(recordsOf(2, 3), 0, 2, 0);
    lane.processPending();
    expect(bench.handled).toEqual([0, 1]);
    gate.resolve(succeeded);
    await bench.runtime.settle();
    expect([bench.handled, lane.tracker.watermark]).toEqual([[0, 1, 2, 3], 4]);
    expect(reconciles(bench.counters.counts)).toBe(true);
  });

  it('counts outcomes that arrive after end(), without moving the watermark', async () => {
    const gate = new Deferred<Outcome>();
    const bench = new LaneTestBed(() => gate.promise);
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1), 0, 2, 0);
    lane.processPending();
    lane.end();
    const quiet = watched(lane.whenIdle());
    await bench.runtime.settle();
    expect(quiet.ended).toBe(false);
    gate.resolve(succeeded);
    await bench.runtime.settle();
    expect(quiet.ended).toBe(true);
    expect([bench.late, lane.commitPoint(), bench.done]).toEqual([['0 succeeded'], undefined, 0]);
    expect(bench.counters.counts).toMatchObject({ succeeded: 1, handedBack: 1, inFlight: 0 });
  });

  it('reports completed records before whenIdle resolves', async () => {
    const gate = new Deferred<Outcome>();
    const bench = new LaneTestBed(() => gate.promise);
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1), 0, 2, 0);
    lane.processPending();
    lane.pause();
    const done = lane.whenIdle().then(() => bench.done);
    gate.resolve(succeeded);
    expect(await done).toBe(1);
  });

  it('rewinds to the failed record, and hands later ones back', () => {
    const error = new Error('no');
    const bench = new LaneTestBed((offset) =>
      offset === 1 ? { kind: 'failed', reason: 'redeliver', attempts: 1, error } : succeeded,
    );
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1, 2), 0, 3, 0);
    lane.processPending();
    expect(lane.phase).toBe('paused');
    expect([lane.tracker.watermark, lane.tracker.next, lane.backlog]).toEqual([1, 1, 0]);
    expect(bench.pauses).toMatchObject([{ kind: 'failed', error }]);
    expect(bench.counters.counts).toMatchObject({ failed: 1, handedBack: 1, succeeded: 1 });
  });

  it('skips records that completed after the failed one, as soon as that one is done', async () => {
    const failed: Outcome = {
      kind: 'failed',
      reason: 'redeliver',
      attempts: 1,
      error: new Error('no'),
    };
    const answers = [[succeeded, failed, succeeded], [succeeded]];
    const bench = new LaneTestBed(undefined, () => answers.shift() ?? []);
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1, 2), 0, 3, 0);
    lane.processPending();
    await bench.runtime.settle();
    lane.resume();
    lane.enqueue(recordsOf(1), 0, 1, 0);
    lane.processPending();
    await bench.runtime.settle();
    expect([lane.commitPoint()?.offset, bench.done]).toEqual([3, 2]);
  });

  /** A batch processor that returns the outcomes of its records when the test answers. */
  class Segments {
    readonly calls: number[][] = [];
    #answer = new Deferred<readonly Outcome[]>();
    readonly bench = new LaneTestBed(undefined, (slice) => {
      this.calls.push(slice.map(({ record }) => record.offset));
      this.signals.push(...slice.slice(0, 1).map(({ waitSignal }) => waitSignal));
      return this.#answer.promise;
    });
    readonly signals: AbortSignal[] = [];
    readonly lane = this.bench.lane();

    start(...offsets: readonly number[]): void {
      this.lane.enqueue(recordsOf(...offsets), 0, offsets.length, 0);
      this.lane.processPending();
    }

    async answer(...outcomes: readonly Outcome[]): Promise<void> {
      const { resolve } = this.#answer;
      this.#answer = new Deferred();
      resolve(outcomes);
      await this.bench.runtime.settle();
    }
  }

  it('calls a batch processor again for the unfinished records of the slice, and knows its progress between the calls', async () => {
    const segments = new Segments();
    const { bench, lane, calls } = segments;
    segments.start(0, 1, 2, 3);
    await segments.answer(succeeded);
    expect([lane.tracker.watermark, lane.running.length]).toEqual([1, 2]);
    await segments.answer(succeeded, succeeded);
    await segments.answer(succeeded);
    expect(calls).toEqual([[0, 1, 2], [1, 2], [3]]);
    expect(lane.tracker.watermark).toBe(4);
    expect(bench.counters.counts).toMatchObject({ received: 4, succeeded: 4, inFlight: 0 });
  });

  it('starts the time limit of a handler with its call', async () => {
    const segments = new Segments();
    segments.start(0, 1, 2);
    await segments.bench.runtime.advance(20_000);
    await segments.answer(succeeded);
    expect(segments.lane.running.map(({ startedAt, records }) => [startedAt, records])).toEqual([
      [segments.bench.runtime.monotonic(), 2],
      [segments.bench.runtime.monotonic(), 0],
    ]);
  });

  it('cuts a slice whose calls take too long, and reads the unfinished records again', async () => {
    const segments = new Segments();
    const { bench, lane, calls } = segments;
    segments.start(0, 1, 2, 3);
    await bench.runtime.advance(42_001);
    await segments.answer(succeeded);
    expect(bench.pauses).toEqual([{ kind: 'slice-cut' }]);
    expect([lane.tracker.watermark, lane.tracker.next, lane.backlog]).toEqual([1, 1, 0]);
    expect(bench.counters.counts).toMatchObject({ handedBack: 3, inFlight: 0, slicesCut: 1 });
    lane.resume();
    segments.start(1, 2, 3);
    expect(calls).toEqual([
      [0, 1, 2],
      [1, 2, 3],
    ]);
  });

  it.each([
    ['is paused', false],
    ['was paused meanwhile', true],
  ])('makes no further call if it %s', async (_, isReleased) => {
    const segments = new Segments();
    const { bench, lane, calls } = segments;
    segments.start(0, 1, 2, 3);
    lane.pause();
    lane.abortWaits(new DeliveryAbortedException('paused'));
    const quiet = watched(lane.whenIdle());
    if (isReleased) lane.resume();
    await segments.answer(succeeded);
    expect([calls.length, quiet.ended, lane.running.length]).toEqual([1, true, 0]);
    expect([lane.tracker.watermark, lane.tracker.next, lane.phase]).toEqual([1, 1, 'paused']);
    expect(bench.counters.counts).toMatchObject({ succeeded: 1, handedBack: 3, inFlight: 0 });
    lane.resume();
    segments.start(1, 2, 3);
    expect(calls.at(-1)).toEqual([1, 2, 3]);
    expect(segments.signals.at(-1)?.aborted).toBe(false);
  });

  it('makes no further call after end()', async () => {
    const segments = new Segments();
    const { bench, lane, calls } = segments;
    segments.start(0, 1, 2);
    const ended = Promise.all(lane.running.map((delivery) => delivery.whenEnded()));
    lane.end();
    await segments.answer(succeeded);
    await ended;
    expect([calls.length, bench.late, lane.commitPoint()]).toEqual([1, ['0 succeeded'], undefined]);
    expect(bench.counters.counts).toMatchObject({ succeeded: 1, handedBack: 2, inFlight: 0 });
  });

  it('rewinds to the failed record of a slice, and hands later ones back', async () => {
    const segments = new Segments();
    const { bench, lane } = segments;
    segments.start(0, 1, 2, 3);
    await segments.answer(succeeded, {
      kind: 'failed',
      reason: 'redeliver',
      attempts: 1,
      error: new Error('no'),
    });
    expect(bench.pauses).toMatchObject([{ kind: 'failed' }]);
    expect([lane.tracker.watermark, lane.tracker.next, lane.backlog]).toEqual([1, 1, 0]);
    expect(bench.counters.counts).toMatchObject({ failed: 1, handedBack: 2, inFlight: 0 });
  });

  it('keeps its position if dueAt() throws for a record of the poll', async () => {
    const bench = new LaneTestBed(undefined, (slice) => slice.map(() => succeeded));
    const dueAt = ({ offset }: { readonly offset: number }): number => {
      if (offset === 2) throw new TypeError('no time');
      return 0;
    };
    const lane = bench.lane(0, bench.runtime, { dueAt });
    lane.enqueue(recordsOf(0, 1, 2), 0, 3, 0);
    lane.processPending();
    await bench.runtime.settle();
    expect(bench.pauses).toMatchObject([{ kind: 'failed', error: { message: 'no time' } }]);
    expect([lane.tracker.watermark, lane.tracker.next]).toEqual([0, 0]);
    expect(bench.counters.counts).toMatchObject({ received: 3, handedBack: 3, inFlight: 0 });
  });

  it('becomes idle and keeps its position if counting a late outcome throws', async () => {
    const segments = new Segments();
    const { bench, lane } = segments;
    segments.start(0, 1, 2);
    lane.end();
    const quiet = watched(lane.whenIdle());
    bench.onLate = () => {
      throw new Error('no log');
    };
    await segments.answer(succeeded, succeeded, succeeded);
    expect(quiet.ended).toBe(true);
    expect(bench.counters.counts).toMatchObject({ received: 3, inFlight: 0 });
    expect(reconciles(bench.counters.counts)).toBe(true);
  });

  it.each([
    ['no outcome', () => []],
    ['undefined', () => undefined as never],
    ['a promise of undefined', () => Promise.resolve(undefined) as never],
    [
      'an exception',
      () => {
        throw new TypeError('escaped');
      },
    ],
  ])(
    'treats every record of a slice as failed if the processor returns or throws %s',
    async (_, processSlice) => {
      const bench = new LaneTestBed(undefined, processSlice);
      const lane = bench.lane();
      lane.enqueue(recordsOf(0, 1), 0, 2, 0);
      lane.processPending();
      await bench.runtime.settle();
      expect(lane.phase).toBe('paused');
      expect(bench.pauses).toMatchObject([{ kind: 'failed', error: { name: 'TypeError' } }]);
      expect(bench.counters.counts.failed).toBeGreaterThan(0);
      expect(reconciles(bench.counters.counts)).toBe(true);
      expect(lane.tracker.watermark).toBeLessThan(2);
    },
  );
});
