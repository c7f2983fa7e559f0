import { PoisonBatchError, TopicRecreatedError } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { LaneTestBed, recordsOf } from '../session/lane-test-bed.spec-support.js';

const backoff = { reason: 'backoff', delayMs: 100, endsOnResume: false } as const;

describe('PartitionPauser', () => {
  it('resumes at the next record of the lane, and seeks only if the driver has another position', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(5);
    bench.pauser.pauseFor(lane, backoff);
    await bench.runtime.advance(100);
    expect(bench.session.calls).toEqual(['pause t-0', 'resume t-0']);
    bench.session.positions.set('t-0', 9);
    bench.pauser.pauseFor(lane, backoff);
    await bench.runtime.advance(100);
    expect(bench.session.calls.slice(2)).toEqual(['pause t-0', 'seek t-0 5', 'resume t-0']);
  });

  it('keeps a lane paused during its revocation, even when the timer of its backoff fires', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane();
    bench.pauser.pauseFor(lane, backoff);
    bench.pauser.stopHandout(lane);
    await bench.runtime.advance(1_000);
    expect(lane.phase).toBe('paused');
    expect(bench.session.calls).not.toContain('resume t-0');
  });

  it('leaves no timer and no pause reason after a lane was removed', () => {
    const bench = new LaneTestBed();
    const lane = bench.lane();
    bench.pauser.pauseFor(lane, backoff);
    lane.end();
    bench.lanes.remove(lane);
    bench.pauser.onLaneRemoved(lane);
    expect(bench.runtime.pendingTimers).toBe(0);
    expect(bench.pauseReasons.reasons('t-0')).toEqual([]);
    expect(bench.pauser.pauses()).toEqual([]);
  });

  it('logs only at debug level if a partition is revoked at the moment of its resume', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(5);
    bench.pauser.pauseFor(lane, backoff);
    bench.session.positions.delete('t-0');
    await bench.runtime.advance(100);
    expect(bench.log).toMatchObject([{ level: 'debug', context: { partition: 't-0' } }]);
  });

  it('ends backpressure when a pause drops the buffer, so that the partition is fetched again', async () => {
    const bench = new LaneTestBed(() => new Promise(() => undefined));
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1, 2, 3), 0, 4, 0);
    bench.pauser.applyBackpressure(lane);
    bench.pauser.pauseFor(lane, backoff);
    await bench.runtime.advance(100);
    expect(bench.session.calls.at(-1)).toBe('resume t-0');
    expect(bench.pauser.pauses()).toEqual([]);
  });

  it('keeps the backpressure of a reassigned partition when its previous handler ends', async () => {
    const gates = [new Deferred<Outcome>(), new Deferred<Outcome>()];
    const bench = new LaneTestBed((offset) => (gates[offset] as Deferred<Outcome>).promise);
    const old = bench.lane();
    old.enqueue(recordsOf(0), 0, 1, 0);
    old.processPending();
    bench.pauser.applyBackpressure(old);
    old.end();
    bench.lanes.remove(old);
    bench.pauser.onLaneRemoved(old);
    bench.pauser.applyBackpressure(bench.lane(1));
    gates[0]?.resolve(succeeded);
    await bench.runtime.settle();
    expect(bench.pauser.pauses()).toMatchObject([{ reasons: ['backpressure'] }]);
  });

  it('fetches a poison batch again after a delay, and shows the pause meanwhile', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(5);
    const error = new PoisonBatchError('t', 0, 7, 9, 'broken');
    bench.pauser.onReadingStopped(lane, error);
    expect(bench.pauser.pauses()).toEqual([
      { topic: 't', partition: 0, reasons: ['backoff'], error },
    ]);
    await bench.runtime.advance(30_000);
    expect(bench.session.calls).toEqual(['seek t-0 5']);
  });

  it('fetches a poison batch again after the delay even if the partition was paused then', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(7);
    bench.pauser.onReadingStopped(lane, new PoisonBatchError('t', 0, 7, 9, 'broken'));
    bench.pauseReasons.add('operator');
    bench.pauser.update();
    await bench.runtime.advance(40_000);
    bench.pauseReasons.remove('operator');
    bench.pauser.update();
    // The driver has the position of the next record already, but a seek is still required after
    // the error.
    expect(bench.session.calls).toEqual(['pause t-0', 'seek t-0 7', 'resume t-0']);
  });

  it('fetches again from the position of the lane, not from the one after a handed-back record', async () => {
    const bench = new LaneTestBed((offset) =>
      offset === 5
        ? { kind: 'failed', reason: 'redeliver', attempts: 1, error: new Error('no') }
        : succeeded,
    );
    const lane = bench.lane(5);
    lane.enqueue(recordsOf(5, 6), 0, 2, 0);
    bench.session.positions.set('t-0', 7);
    bench.pauser.onReadingStopped(lane, new PoisonBatchError('t', 0, 7, 9, 'broken'));
    await bench.runtime.advance(29_000);
    lane.processPending();
    bench.pauser.pauseFor(lane, backoff);
    await bench.runtime.advance(100);
    expect(bench.session.position(lane)).toBe(5);
    // The records from offset 5 on are still being fetched when the delay of the batch ends.
    await bench.runtime.advance(30_000);
    expect(bench.session.position(lane)).toBe(5);
  });

  it('never seeks in a recreated topic, in which its offsets belong to other records', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(5);
    bench.session.positions.set('t-0', 9);
    bench.pauser.onReadingStopped(lane, new TopicRecreatedError('t', 0, 9, 'another topic'));
    bench.pauser.pauseFor(lane, backoff);
    await bench.runtime.advance(60_000);
    expect(bench.session.calls.filter((line) => line.startsWith('seek'))).toEqual([]);
    expect(bench.pauser.pauses()).toMatchObject([
      { reasons: [], error: { code: 'TOPIC_RECREATED' } },
    ]);
  });
});
