import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../model/outcome.js';
import { reconciles, watched } from './intake-world.spec-support.js';
import { GateBench, recordsOf } from './scripted-session.spec-support.js';

describe('a lane', () => {
  it('does what is answered at once without giving up its turn, and says so once per slice', () => {
    const bench = new GateBench();
    const lane = bench.lane();
    lane.offer(recordsOf(0, 1, 2, 3, 4), 0, 5, 0);
    lane.run();
    expect([bench.handled, bench.done, lane.tracker.watermark]).toEqual([[0, 1, 2, 3, 4], 2, 5]);
    expect(lane.commitPoint()).toMatchObject({ offset: 5, leaderEpoch: 0 });
    lane.confirm({ topic: 't', partition: 0, offset: 5 });
    expect(lane.commitPoint()).toBeUndefined();
  });

  it('takes only its part of what was polled', () => {
    const bench = new GateBench();
    const lane = bench.lane();
    lane.offer(recordsOf(0, 1, 2, 3), 1, 3, 0);
    lane.run();
    expect(bench.handled).toEqual([1, 2]);
  });

  it('that is held finishes what runs, drops the rest, and is released behind it', async () => {
    const gate = new Deferred<Outcome>();
    const bench = new GateBench((offset) => (offset === 1 ? gate.promise : succeeded));
    const lane = bench.lane();
    lane.offer(recordsOf(0, 1, 2, 3), 0, 4, 0);
    lane.run();
    lane.hold();
    expect([lane.backlog, lane.tracker.next, lane.tracker.watermark]).toEqual([0, 2, 1]);
    lane.release();
    lane.offer(recordsOf(2, 3), 0, 2, 0);
    lane.run();
    expect(bench.handled).toEqual([0, 1]);
    gate.resolve(succeeded);
    await bench.runtime.settle();
    expect([bench.handled, lane.tracker.watermark]).toEqual([[0, 1, 2, 3], 4]);
    expect(reconciles(bench.tally.counts)).toBe(true);
  });

  it('that has ended counts what ends later, and moves nothing', async () => {
    const gate = new Deferred<Outcome>();
    const bench = new GateBench(() => gate.promise);
    const lane = bench.lane();
    lane.offer(recordsOf(0, 1), 0, 2, 0);
    lane.run();
    lane.end();
    const quiet = watched(lane.whenQuiet());
    await bench.runtime.settle();
    expect(quiet.ended).toBe(false);
    gate.resolve(succeeded);
    await bench.runtime.settle();
    expect(quiet.ended).toBe(true);
    expect([bench.late, lane.commitPoint(), bench.done]).toEqual([['0 succeeded'], undefined, 0]);
    expect(bench.tally.counts).toMatchObject({ succeeded: 1, handedBack: 1, inFlight: 0 });
  });

  it('says what was done before whoever waits for quiet goes on', async () => {
    const gate = new Deferred<Outcome>();
    const bench = new GateBench(() => gate.promise);
    const lane = bench.lane();
    lane.offer(recordsOf(0, 1), 0, 2, 0);
    lane.run();
    lane.hold();
    const done = lane.whenQuiet().then(() => bench.done);
    gate.resolve(succeeded);
    expect(await done).toBe(1);
  });

  it('stands at the failed record, with the ones behind it given back', () => {
    const error = new Error('no');
    const bench = new GateBench((offset) => (offset === 1 ? { kind: 'failed', error } : succeeded));
    const lane = bench.lane();
    lane.offer(recordsOf(0, 1, 2), 0, 3, 0);
    lane.run();
    expect(lane.isHeld).toBe(true);
    expect([lane.tracker.watermark, lane.tracker.next, lane.backlog]).toEqual([1, 1, 0]);
    expect(bench.holds).toMatchObject([{ kind: 'failed', error }]);
    expect(bench.tally.counts).toMatchObject({ failed: 1, handedBack: 1, succeeded: 1 });
  });

  it('passes at once what was done behind the failed record, when that one is done', async () => {
    const failed: Outcome = { kind: 'failed', error: new Error('no') };
    const answers = [[succeeded, failed, succeeded], [succeeded]];
    const bench = new GateBench(undefined, () => answers.shift() ?? []);
    const lane = bench.lane();
    lane.offer(recordsOf(0, 1, 2), 0, 3, 0);
    lane.run();
    await bench.runtime.settle();
    lane.release();
    lane.offer(recordsOf(1), 0, 1, 0);
    lane.run();
    await bench.runtime.settle();
    expect([lane.commitPoint()?.offset, bench.done]).toEqual([3, 2]);
  });

  it.each([
    ['too few outcomes', () => [succeeded]],
    ['nothing at all', () => undefined as never],
    ['a promise of nothing', () => Promise.resolve(undefined) as never],
    [
      'an exception',
      () => {
        throw new TypeError('escaped');
      },
    ],
  ])('treats %s for a slice as failures', async (_, processSlice) => {
    const bench = new GateBench(undefined, processSlice);
    const lane = bench.lane();
    lane.offer(recordsOf(0, 1), 0, 2, 0);
    lane.run();
    await bench.runtime.settle();
    expect(lane.isHeld).toBe(true);
    expect(bench.holds).toMatchObject([{ kind: 'failed', error: { name: 'TypeError' } }]);
    expect(bench.tally.counts.failed).toBeGreaterThan(0);
    expect(reconciles(bench.tally.counts)).toBe(true);
    expect(lane.tracker.watermark).toBeLessThan(2);
  });
});
