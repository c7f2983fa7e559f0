import type { BrokerRecord } from '@nest-event-bus/broker';
import { type RecordProcessor, succeeded } from '../../model/outcomes/outcome.js';
import {
  type SessionUnderTestOptions,
  ConsumingTestBed,
  upTo,
} from '../session/consuming-test-bed.spec-support.js';

interface HandedOut {
  readonly offset: number;
  readonly at: number;
  readonly receivedAt: number;
}

/** Starts a session with records of one partition that are due after these delays. */
async function dueIn(delays: readonly number[], options: Partial<SessionUnderTestOptions> = {}) {
  const testBed = await ConsumingTestBed.of(1);
  await testBed.write(delays.length);
  const start = testBed.runtime.now();
  const handed: HandedOut[] = [];
  const asked = new Set<number>();
  const processor: RecordProcessor = {
    process: ({ record: { offset }, receivedAt }) => {
      handed.push({ offset, at: testBed.runtime.now() - start, receivedAt: receivedAt - start });
      return succeeded;
    },
    dueAt: ({ offset }: BrokerRecord) => {
      asked.add(offset);
      return start + (delays[offset] as number);
    },
  };
  const { session } = await testBed.started(undefined, { processor, ...options });
  const offsets = (): number[] => handed.map(({ offset }) => offset);
  const pauses = () => session.status.partitionPauses.map(({ reasons }) => reasons);
  return { testBed, session, handed, offsets, asked, start, pauses };
}

describe('a record of a retry topic that is not due', () => {
  it('pauses its partition exactly until it is due', async () => {
    const { testBed, handed, pauses } = await dueIn([0, 5_000, 5_000, 90_123]);
    await testBed.until(() => handed.length > 0);
    expect(pauses()).toEqual([['delay']]);
    await testBed.until(() => handed.length === 4);
    expect(handed.slice(1).map(({ at }) => at)).toEqual([5_000, 5_000, 90_123]);
    expect(pauses()).toEqual([]);
    await testBed.untilCommitted(4);
    await testBed.end();
  });

  it('delays the records after it, whose due time is not read yet', async () => {
    const { testBed, handed, asked, offsets } = await dueIn([0, 60_000, 0, 0]);
    await testBed.runtime.advance(50_000);
    expect([offsets(), [...asked]]).toEqual([[0], [0, 1]]);
    expect(await testBed.committed()).toBe(1);
    await testBed.until(() => handed.length === 4);
    await testBed.end();
  });

  it('starts its retry budget when it is due, as the records after it do', async () => {
    const { testBed, handed } = await dueIn([60_000, 0, 70_000]);
    await testBed.until(() => handed.length === 3);
    expect(handed.map(({ receivedAt }) => receivedAt)).toEqual([60_000, 60_000, 70_000]);
    await testBed.end();
  });

  it.each(['partition', 'key'] as const)(
    'pauses the partition if dueAt() throws, and is asked again after the backoff, by %s',
    async (by) => {
      const testBed = await ConsumingTestBed.of(1);
      await testBed.write(4);
      const handed: number[] = [];
      let asked = 0;
      const processor: RecordProcessor = {
        process: ({ record }) => {
          handed.push(record.offset);
          return succeeded;
        },
        dueAt: ({ offset }) => {
          if (offset === 2 && asked++ < 2) throw new Error('who knows?');
          return 0;
        },
      };
      const settings = { processing: { by, maxConcurrency: 4 } };
      const { session } = await testBed.started(undefined, { processor, settings });
      await testBed.until(() => asked === 1);
      await testBed.until(() => session.status.partitionPauses.length > 0);
      const [pause] = session.status.partitionPauses;
      expect([pause?.reasons, pause?.error?.message]).toEqual([['backoff'], 'who knows?']);
      await testBed.untilCommitted(4);
      expect(handed).toEqual(upTo(4));
      expect(session.counts).toMatchObject({ succeeded: 4, inFlight: 0 });
      await testBed.end();
    },
  );

  it.each(['partition', 'key'] as const)(
    'does not delay the commit of completed records with MANUAL: by %s',
    async (by) => {
      const settings = { processing: { by, maxConcurrency: 4 }, ackMode: 'MANUAL' } as const;
      const delays = [0, 0, 600_000];
      const { testBed } = await dueIn(delays, { settings: { ...settings, maxPollRecords: 50 } });
      await testBed.untilCommitted(2);
      await testBed.end();
    },
  );

  it('stops fetching when a whole slice waits', async () => {
    const { testBed, session, handed, pauses } = await dueIn(upTo(30).map(() => 60_000));
    await testBed.runtime.advance(1_000);
    expect(pauses()).toEqual([['delay', 'backpressure']]);
    expect(session.counts.inFlight).toBeLessThanOrEqual(10);
    await testBed.until(() => handed.length === 30);
    await testBed.untilCommitted(30);
    await testBed.end();
  });

  it('is not delivered earlier by a pause and a resume of the session, and does not end that pause', async () => {
    const { testBed, session, handed, offsets, pauses } = await dueIn([0, 10_000, 40_000]);
    await testBed.runtime.advance(5_000);
    await testBed.done(session.pause('operator'));
    expect([pauses(), session.counts.inFlight]).toEqual([[], 0]);
    await testBed.runtime.advance(15_000);
    expect(offsets()).toEqual([0]);
    session.resume('operator');
    await testBed.until(() => handed.length === 2);
    expect(handed[1]?.at).toBeLessThan(20_100);
    await testBed.done(session.pause('operator'));
    session.resume('operator');
    await testBed.until(() => handed.length === 3);
    expect(handed[2]?.at).toBe(40_000);
    await testBed.end();
  });

  it('does not delay a drain, a revocation or a close', async () => {
    const { testBed, session, offsets } = await dueIn([0, 600_000, 600_000]);
    await testBed.runtime.advance(1_000);
    const before = testBed.runtime.monotonic();
    expect(await testBed.done(session.close({ drainMs: 30_000 }))).toEqual({
      complete: true,
      abandoned: [],
    });
    await testBed.done(session.close());
    expect(testBed.runtime.monotonic() - before).toBeLessThan(100);
    expect([session.counts.inFlight, offsets()]).toEqual([0, [0]]);
    expect(await testBed.committed()).toBe(1);
    expect(testBed.runtime.pendingTimers).toBe(0);
  });

  it('waits until its due time at the next owner, too', async () => {
    const { testBed, session, handed, start } = await dueIn([30_000]);
    await testBed.runtime.advance(5_000);
    await testBed.done(session.close());
    const at: number[] = [];
    const processor: RecordProcessor = {
      process: () => {
        at.push(testBed.runtime.now() - start);
        return succeeded;
      },
      dueAt: () => start + 30_000,
    };
    await testBed.started(undefined, { processor });
    await testBed.until(() => at.length > 0);
    expect([at, handed]).toEqual([[30_000], []]);
    await testBed.end();
  });

  it.each([Number.NaN, -Infinity])('is due at once if its due time is %s', async (time) => {
    const { testBed, handed } = await dueIn([time]);
    await testBed.until(() => handed.length > 0);
    expect(handed[0]?.receivedAt).toBeLessThan(1_000);
    await testBed.end();
  });

  it('is shown in partitionPauses if dueAt() throws', async () => {
    const processor: RecordProcessor = {
      process: () => succeeded,
      dueAt: () => {
        throw new TypeError('no time');
      },
    };
    const { testBed, session } = await dueIn([0], { processor });
    await testBed.until(() => session.status.partitionPauses.length > 0);
    expect(session.status.partitionPauses).toMatchObject([
      { reasons: ['backoff'], error: { message: 'no time' } },
    ]);
    await testBed.end();
  });

  it('is not part of a slice: a batch handler gets only due records', async () => {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.write(4);
    const start = testBed.runtime.now();
    const slices: number[][] = [];
    const processor: RecordProcessor = {
      process: () => succeeded,
      processSlice: (slice) => {
        slices.push(slice.map(({ record }) => record.offset));
        return slice.map(() => succeeded);
      },
      dueAt: ({ offset }) => (offset < 2 ? start : start + 20_000),
    };
    await testBed.started(undefined, { processor });
    await testBed.until(() => slices.flat().length === 4);
    expect(slices).toEqual([
      [0, 1],
      [2, 3],
    ]);
    await testBed.end();
  });
});
