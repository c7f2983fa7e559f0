import { ConnectionError } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import { recordingLogger, watched } from './consuming-test-bed.spec-support.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import { PollLoop } from './poll-loop.js';
import { LaneTestBed, recordsOf } from './lane-test-bed.spec-support.js';

const ending = new Error('over');

describe('PollLoop', () => {
  let bench: LaneTestBed;
  let lane: PartitionLane;
  let stop: AbortController;

  const start = (runtime: Runtime = bench.runtime, idleBetweenPollsMs = 0) => {
    const loop = new PollLoop({
      session: bench.session.asConsumer,
      lanes: bench.lanes,
      gate: bench.gate,
      bufferLimit: bench.bufferLimit,
      runtime,
      logger: recordingLogger(bench.log),
      maxPollRecords: 3,
      idleBetweenPollsMs,
    });
    return watched(loop.run(stop.signal));
  };

  beforeEach(() => {
    bench = new LaneTestBed();
    lane = bench.lane(5);
    stop = new AbortController();
  });

  afterEach(() => stop.abort(ending));

  it("enqueues records in the lane of their partition and notes the driver's position", async () => {
    bench.session.answers.push(recordsOf(5, 6));
    bench.session.positions.set('t-0', 9);
    start();
    await bench.runtime.settle();
    expect([bench.handled, lane.tracker.watermark]).toEqual([[5, 6], 9]);
  });

  it('drops records that were in transit when the partition was sought', async () => {
    bench.session.answers.push(recordsOf(7, 8));
    bench.session.positions.set('t-0', 5);
    start();
    await bench.runtime.settle();
    expect([bench.handled, bench.counters.counts.received]).toEqual([[], 0]);
  });

  it('drops records that were in transit when the partition was revoked', async () => {
    bench.session.answers.push(recordsOf(5, 6));
    bench.session.positions.delete('t-0');
    start();
    await bench.runtime.settle();
    expect(bench.counters.counts.received).toBe(0);
  });

  it('drops records that were in transit when the partition was paused, and reads them again', async () => {
    bench.session.answers.push(recordsOf(5, 6));
    bench.session.positions.set('t-0', 7);
    bench.ledger.add('operator');
    bench.gate.update();
    start();
    await bench.runtime.settle();
    expect([bench.handled, bench.counters.counts.received]).toEqual([[], 0]);
    bench.ledger.remove('operator');
    bench.gate.update();
    expect(bench.session.calls.slice(-2)).toEqual(['seek t-0 5', 'resume t-0']);
  });

  it.each(['enqueue', 'processPending'] as const)(
    'skips no record if a lane fails in %s, and serves the other lanes',
    async (step) => {
      bench.lane(3, bench.runtime, { partition: 1 });
      bench.session.positions.set('t-0', 7);
      bench.session.positions.set('t-1', 5);
      const others = recordsOf(3, 4).map((record) => ({ ...record, partition: 1 }));
      bench.session.answers.push([...recordsOf(5, 6), ...others]);
      jest.spyOn(lane, step).mockImplementationOnce(() => {
        throw new Error('a mistake');
      });
      start();
      await bench.runtime.settle();
      expect([bench.handled, lane.tracker.watermark]).toEqual([[3, 4], 5]);
      expect(bench.gate.pauses()).toMatchObject([
        { partition: 0, reasons: ['backoff'], error: { message: 'a mistake' } },
      ]);
      await bench.runtime.advance(1_000);
      expect(bench.session.calls.slice(-2)).toEqual(['seek t-0 5', 'resume t-0']);
    },
  );

  it('continues after a failed poll while the session lives', async () => {
    bench.session.answers.push(new ConnectionError('odd'), recordsOf(5));
    bench.session.positions.set('t-0', 6);
    const seen = start();
    await bench.runtime.advance(200);
    expect([bench.handled, seen.ended]).toEqual([[5], false]);
  });

  it('ends with the error of a failed session, or with the reason of the signal', async () => {
    const error = new ConnectionError('for good');
    bench.session.answers.push(error);
    bench.session.status = { state: 'failed', since: 0, error };
    const failed = start();
    await bench.runtime.settle();
    expect(failed.result).toBe(error);
    const aborted = start();
    stop.abort(ending);
    await bench.runtime.settle();
    expect(aborted.result).toBe(ending);
  });

  it('waits idleBetweenPollsMs between polls', async () => {
    bench.session.answers.push(recordsOf(5), recordsOf(6));
    bench.session.follows = true;
    start(bench.runtime, 1_000);
    await bench.runtime.advance(999);
    expect(bench.handled).toEqual([5]);
    await bench.runtime.advance(1);
    expect(bench.handled).toEqual([5, 6]);
  });

  it('yields to timers, however many records there are', async () => {
    let elapsed = 0;
    const runtime: Runtime = {
      now: () => 0,
      monotonic: () => elapsed++,
      setTimer: (callback, delayMs) => bench.runtime.setTimer(callback, delayMs),
      defer: (callback) => bench.runtime.defer(callback),
      random: () => 0,
      uuid: () => '',
      hostname: () => '',
    };
    for (let offset = 5; offset < 20_005; offset++) bench.session.answers.push(recordsOf(offset));
    bench.session.follows = true;
    start(runtime);
    await new Promise<void>((resolve) => bench.runtime.defer(resolve));
    expect(bench.handled.length).toBeGreaterThan(1);
    expect(bench.handled.length).toBeLessThan(1_000);
    stop.abort(ending);
  });
});
