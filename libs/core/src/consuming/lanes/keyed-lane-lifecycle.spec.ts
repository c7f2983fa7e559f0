import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { reconciles, upTo } from '../session/consuming-test-bed.spec-support.js';
import type { ConsumingSettings } from '../session/consuming-session.js';
import { OffsetTracker } from '../commits/offset-tracker.js';
import { PartitionProgress } from '../commits/partition-progress.js';
import { Keys, failed } from './keyed-lane.spec-support.js';

describe("a partition with processing.by 'key'", () => {
  it('stops fetching while one key blocks many of its records', async () => {
    const keys = await Keys.of(upTo(300).map(() => 'one'));
    const { session } = await keys.start({ maxPollRecords: 5 });
    await keys.testBed.until(() => keys.running.length === 1);
    await keys.testBed.runtime.advance(1_000);
    expect(session.status.partitionPauses).toMatchObject([{ reasons: ['backpressure'] }]);
    expect(session.counts.inFlight).toBeLessThanOrEqual(1 + 2 * 8 + 5);
    while ((await keys.testBed.committed()) !== 300) {
      await keys.endAll();
      await keys.testBed.runtime.advance(20);
    }
    expect(keys.begun).toEqual(upTo(300));
    await keys.testBed.end();
  });

  it('lets running handlers finish in a pause, hands back the waiting records, and skips none', async () => {
    const keys = await Keys.of(['a', 'b', 'a', 'c', 'b', 'd']);
    const { session } = await keys.start({ processing: { by: 'key', maxConcurrency: 2 } });
    await keys.testBed.until(() => keys.running.length === 2);
    await keys.testBed.done(session.pause('operator'));
    expect(keys.running).toEqual([0, 1]);
    await keys.end(1);
    session.resume('operator');
    await keys.testBed.runtime.advance(500);
    // The key of the running handler stays blocked during the pause and after it.
    expect(new Set(keys.running)).toEqual(new Set([0, 3]));
    while ((await keys.testBed.committed()) !== 6) {
      await keys.endAll();
      await keys.testBed.runtime.advance(50);
    }
    expect(keys.begun.toSorted((one, other) => one - other)).toEqual(upTo(6));
    await keys.testBed.end();
  });

  it('waits for all running handlers in a drain, and commits their records', async () => {
    const keys = await Keys.of(['a', 'b', 'c']);
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.running.length === 3);
    const draining = session.close({ drainMs: 10_000 });
    await keys.end(2);
    await keys.end(0);
    await keys.testBed.runtime.advance(1_000);
    await keys.end(1);
    expect(await keys.testBed.done(draining)).toEqual({ complete: true, abandoned: [] });
    expect(await keys.testBed.committed()).toBe(3);
    await keys.testBed.end();
  });

  it('commits no record whose handler ends after the revocation', async () => {
    const keys = await Keys.of(['a', 'b']);
    const { session } = await keys.start({ rebalanceDrainTimeoutMs: 0 });
    await keys.testBed.until(() => keys.running.length === 2);
    await keys.end(1);
    await keys.testBed.done(session.close());
    await keys.end(0);
    expect(await keys.testBed.committed()).toBe(0);
    expect(session.counts).toMatchObject({ succeeded: 2, inFlight: 0 });
    const next = new Keys(keys.testBed, () => succeeded);
    await next.start();
    await keys.testBed.untilCommitted(2);
    // The record that was completed beyond the committed offset is not handled again.
    expect(next.begun).toEqual([0]);
    await keys.testBed.end();
  });
});

describe("an internal error in a partition with processing.by 'key'", () => {
  afterEach(() => jest.restoreAllMocks());

  const breakOnce = (): never => {
    throw new Error('a mistake of our own');
  };

  it.each<[string, () => Outcome | Promise<Outcome>]>([
    ['at once', () => succeeded],
    ['later', async () => succeeded],
  ])('blocks no key for ever if it follows a record that was handled %s', async (_, answer) => {
    const keys = await Keys.of(['a', 'a', 'b'], answer);
    jest.spyOn(OffsetTracker.prototype, 'complete').mockImplementationOnce(breakOnce);
    const { session } = await keys.start();
    await keys.testBed.untilCommitted(3);
    expect(keys.begun.filter((offset) => offset === 0)).toEqual([0, 0]);
    expect(session.counts.inFlight).toBe(0);
    await keys.testBed.end();
  });

  it('does not let a record overtake a running handler of its key', async () => {
    const keys = await Keys.of(['a', 'b', 'a', 'b']);
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.running.length === 2);
    jest.spyOn(OffsetTracker.prototype, 'complete').mockImplementationOnce(breakOnce);
    await keys.end(0);
    await keys.testBed.until(() => keys.begun.length === 3);
    await keys.testBed.runtime.advance(5_000);
    expect(keys.begun).toEqual([0, 1, 0]);
    await keys.end(1);
    expect(keys.begun).toEqual([0, 1, 0, 3]);
    await keys.endAll();
    await keys.testBed.untilCommitted(4);
    expect(reconciles(session.counts)).toBe(true);
    await keys.testBed.end();
  });

  it.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)(
    'delays a strict commit that it prevents, but does not lose it: by %s',
    async (ackMode) => {
      const keys = await Keys.of(['a', 'a', 'b'], () => succeeded);
      jest.spyOn(PartitionProgress.prototype, 'commitPoint').mockImplementationOnce(breakOnce);
      await keys.start({ strictCommits: true, ackMode });
      await keys.testBed.untilCommitted(3);
      await keys.testBed.end();
    },
  );

  it('does not prevent the redelivery of a record if it occurs while no handler runs', async () => {
    const keys = await Keys.of(['a'], ({ history: { redeliveries } }) =>
      redeliveries > 0 ? succeeded : failed({ delayMs: 5_000 }),
    );
    await keys.start();
    await keys.testBed.until(() => keys.begun.length === 1);
    await keys.testBed.runtime.advance(1_000);
    jest.spyOn(PartitionProgress.prototype, 'commitPoint').mockImplementation(breakOnce);
    await keys.testBed.runtime.advance(10_000);
    jest.restoreAllMocks();
    await keys.testBed.untilCommitted(1);
    await keys.testBed.end();
  });
});

describe('handlers that run beyond the end of their assignment', () => {
  /** Loses an assignment while a record is in flight, and gets the partition again. */
  async function reassignedWhileRunning(
    settings: Partial<ConsumingSettings> = {},
  ): Promise<{ keys: Keys; regain: () => Promise<void>; runsOfFirst: () => number }> {
    const keys = await Keys.of(['a'], ({ record }) =>
      record.offset === 0 ? undefined : succeeded,
    );
    const { testBed } = keys;
    const { session, log } = await keys.start(settings);
    await testBed.until(() => keys.begun.length === 1);
    const gone = testBed.broker.faults.dropHeartbeats({ groupId: 'g' });
    await testBed.until(() => log.some(({ message }) => message.startsWith('Partitions lost')));
    const regain = async (): Promise<void> => {
      gone.lift();
      await testBed.writeKeys(['b', 'a', 'c']);
      await testBed.until(() => session.status.assignment.length === 1);
      await testBed.runtime.advance(5_000);
    };
    const runsOfFirst = (): number => keys.begun.filter((offset) => offset === 0).length;
    return { keys, regain, runsOfFirst };
  }

  afterEach(() => jest.restoreAllMocks());

  it('block their key for the next assignment, and no other key', async () => {
    const { keys, regain, runsOfFirst } = await reassignedWhileRunning();
    await regain();
    expect(keys.begun).toEqual([0, 1, 3]);
    await keys.end(0);
    await keys.testBed.until(() => runsOfFirst() === 2);
    await keys.endAll();
    await keys.testBed.untilCommitted(4);
    expect(keys.begun).toEqual([0, 1, 3, 0, 2]);
    await keys.testBed.end();
  });

  it('block their key even after an internal error in the next assignment', async () => {
    const { keys, regain, runsOfFirst } = await reassignedWhileRunning();
    const complete = jest.spyOn(OffsetTracker.prototype, 'complete');
    complete.mockImplementationOnce(() => {
      throw new Error('a mistake of our own');
    });
    await regain();
    expect(complete).toHaveBeenCalled();
    expect(runsOfFirst()).toBe(1);
    await keys.end(0);
    await keys.testBed.until(() => runsOfFirst() === 2);
    await keys.endAll();
    await keys.testBed.untilCommitted(4);
    await keys.testBed.end();
  });

  it('do not prevent commits of other records with MANUAL', async () => {
    const { keys, regain } = await reassignedWhileRunning({
      ackMode: 'MANUAL',
      maxPollRecords: 50,
    });
    await regain();
    expect(await keys.doneBeyondGap()).toEqual([1, 3]);
    await keys.endAll();
    await keys.testBed.end();
  });
});
