import { PoisonBatchError, TopicRecreatedError } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { LaneTestBed, recordsOf } from '../session/lane-test-bed.spec-support.js';

const backoff = { reason: 'backoff', delayMs: 100, endsOnResume: false } as const;

describe('LaneGate', () => {
  it('resumes at the next record of the lane, and keeps fetched records if the driver is there', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(5);
    bench.gate.pauseFor(lane, backoff);
    await bench.runtime.advance(100);
    expect(bench.session.calls).toEqual(['pause t-0', 'resume t-0']);
    bench.session.positions.set('t-0', 9);
    bench.gate.pauseFor(lane, backoff);
    await bench.runtime.advance(100);
    expect(bench.session.calls.slice(2)).toEqual(['pause t-0', 'seek t-0 5', 'resume t-0']);
  });

  it('keeps a lane paused during its revocation, whatever timer fires', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane();
    bench.gate.pauseFor(lane, backoff);
    bench.gate.stopHandout(lane);
    await bench.runtime.advance(1_000);
    expect(lane.isPaused).toBe(true);
    expect(bench.session.calls).not.toContain('resume t-0');
  });

  it('leaves no timer and no reason behind a removed lane', () => {
    const bench = new LaneTestBed();
    const lane = bench.lane();
    bench.gate.pauseFor(lane, backoff);
    lane.end();
    bench.lanes.remove(lane);
    bench.gate.onLaneRemoved(lane);
    expect(bench.runtime.pendingTimers).toBe(0);
    expect(bench.ledger.reasons('t-0')).toEqual([]);
    expect(bench.gate.pauses()).toEqual([]);
  });

  it('accepts that a partition is revoked in the moment of its resume', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(5);
    bench.gate.pauseFor(lane, backoff);
    bench.session.positions.delete('t-0');
    await bench.runtime.advance(100);
    expect(bench.log).toMatchObject([{ level: 'debug', context: { partition: 't-0' } }]);
  });

  it('ends backpressure when a pause drops the buffer, so that the partition is fetched again', async () => {
    const bench = new LaneTestBed(() => new Promise(() => undefined));
    const lane = bench.lane();
    lane.enqueue(recordsOf(0, 1, 2, 3), 0, 4, 0);
    bench.gate.applyBackpressure(lane);
    bench.gate.pauseFor(lane, backoff);
    await bench.runtime.advance(100);
    expect(bench.session.calls.at(-1)).toBe('resume t-0');
    expect(bench.gate.pauses()).toEqual([]);
  });

  it('keeps the backpressure of a reassigned partition when its previous handler ends', async () => {
    const gates = [new Deferred<Outcome>(), new Deferred<Outcome>()];
    const bench = new LaneTestBed((offset) => (gates[offset] as Deferred<Outcome>).promise);
    const old = bench.lane();
    old.enqueue(recordsOf(0), 0, 1, 0);
    old.processPending();
    bench.gate.applyBackpressure(old);
    old.end();
    bench.lanes.remove(old);
    bench.gate.onLaneRemoved(old);
    bench.gate.applyBackpressure(bench.lane(1));
    gates[0]?.resolve(succeeded);
    await bench.runtime.settle();
    expect(bench.gate.pauses()).toMatchObject([{ reasons: ['backpressure'] }]);
  });

  it('fetches a poison batch again after a delay, and shows it meanwhile', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(5);
    const error = new PoisonBatchError('t', 0, 7, 9, 'broken');
    bench.gate.onReadingStopped(lane, error);
    expect(bench.gate.pauses()).toEqual([
      { topic: 't', partition: 0, reasons: ['backoff'], error },
    ]);
    await bench.runtime.advance(30_000);
    expect(bench.session.calls).toEqual(['seek t-0 5']);
  });

  it('fetches a poison batch again, too, if the partition was paused when the delay ended', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(7);
    bench.gate.onReadingStopped(lane, new PoisonBatchError('t', 0, 7, 9, 'broken'));
    bench.ledger.add('operator');
    bench.gate.update();
    await bench.runtime.advance(40_000);
    bench.ledger.remove('operator');
    bench.gate.update();
    // The driver is at the next record, but the stop still requires a seek.
    expect(bench.session.calls).toEqual(['pause t-0', 'seek t-0 7', 'resume t-0']);
  });

  it('fetches again from where the lane goes on, not from after a record that was given back', async () => {
    const bench = new LaneTestBed((offset) =>
      offset === 5
        ? { kind: 'failed', reason: 'redeliver', attempts: 1, error: new Error('no') }
        : succeeded,
    );
    const lane = bench.lane(5);
    lane.enqueue(recordsOf(5, 6), 0, 2, 0);
    bench.session.positions.set('t-0', 7);
    bench.gate.onReadingStopped(lane, new PoisonBatchError('t', 0, 7, 9, 'broken'));
    await bench.runtime.advance(29_000);
    lane.processPending();
    bench.gate.pauseFor(lane, backoff);
    await bench.runtime.advance(100);
    expect(bench.session.position(lane)).toBe(5);
    // The records are in transit when the batch is to be read again.
    await bench.runtime.advance(30_000);
    expect(bench.session.position(lane)).toBe(5);
  });

  it('never seeks in a recreated topic, whose offsets mean something else', async () => {
    const bench = new LaneTestBed();
    const lane = bench.lane(5);
    bench.session.positions.set('t-0', 9);
    bench.gate.onReadingStopped(lane, new TopicRecreatedError('t', 0, 9, 'another topic'));
    bench.gate.pauseFor(lane, backoff);
    await bench.runtime.advance(60_000);
    expect(bench.session.calls.filter((line) => line.startsWith('seek'))).toEqual([]);
    expect(bench.gate.pauses()).toMatchObject([
      { reasons: [], error: { code: 'TOPIC_RECREATED' } },
    ]);
  });
});
