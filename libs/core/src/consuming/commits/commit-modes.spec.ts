import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { type Outcome, type RecordProcessor, succeeded } from '../../model/outcomes/outcome.js';
import {
  type Handle,
  ConsumingTestBed,
  reconciles,
  upTo,
} from '../session/consuming-test-bed.spec-support.js';
import type { ConsumingSettings } from '../session/consuming-session.js';

/** Records the handler calls and the stored commits in their order. */
async function eventsOf(
  records: number,
  settings: Partial<ConsumingSettings>,
  processor?: (say: (what: string) => void) => RecordProcessor,
) {
  const testBed = await ConsumingTestBed.of(1);
  await testBed.write(records);
  const events: string[] = [];
  const say = (what: string): void => void events.push(what);
  const handle: Handle = ({ record }) => {
    say(`${record.offset}`);
    return succeeded;
  };
  const underTest = testBed.session(handle, {
    settings,
    processor: processor?.(say),
    onCommit: (offset) => say(`stored ${offset}`),
  });
  await testBed.done(underTest.session.start());
  await testBed.untilCommitted(records);
  await testBed.end();
  return events;
}

const slices = (say: (what: string) => void): RecordProcessor => ({
  process: () => succeeded,
  processSlice: (slice) => {
    say(slice.map(({ record }) => record.offset).join('-'));
    return slice.map(() => succeeded);
  },
});

describe('a completed record', () => {
  it('is committed while the next records run, with MANUAL_IMMEDIATE', async () => {
    const events = await eventsOf(4, { ackMode: 'MANUAL_IMMEDIATE' });
    expect(events.slice(0, 4)).toEqual(['0', '1', '2', '3']);
    expect(events.at(-1)).toBe('stored 4');
  });

  it('is committed before the next record begins, with strict commits', async () => {
    expect(await eventsOf(3, { ackMode: 'MANUAL_IMMEDIATE', strictCommits: true })).toEqual([
      '0',
      'stored 1',
      '1',
      'stored 2',
      '2',
      'stored 3',
    ]);
  });

  it('is committed with its slice before the next slice begins, with MANUAL and strict commits', async () => {
    const settings = { ackMode: 'MANUAL', strictCommits: true, maxPollRecords: 2 } as const;
    expect(await eventsOf(4, settings)).toEqual(['0', '1', 'stored 2', '2', '3', 'stored 4']);
  });

  it('is committed before the next record of its key begins, with strict commits', async () => {
    const processing = { by: 'key', maxConcurrency: 4 } as const;
    const settings = { processing, strictCommits: true } as const;
    expect(await eventsOf(2, settings)).toEqual(['0', 'stored 1', '1', 'stored 2']);
  });
});

describe('a slice of a BATCH listener', () => {
  const batch = { listenerType: 'BATCH', maxPollRecords: 2 } as const;

  it.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)(
    'is committed while the next slice runs, with %s',
    async (ackMode) => {
      const events = await eventsOf(4, { ...batch, ackMode });
      expect(events.indexOf('stored 2')).toBeGreaterThan(events.indexOf('2'));
      expect(events).not.toContain('stored 1');
      expect(events.at(-1)).toBe('stored 4');
    },
  );

  it('is committed as a whole before the next slice begins, with strict commits', async () => {
    const events = ['0', '1', 'stored 2', '2', '3', 'stored 4'];
    expect(await eventsOf(4, { ...batch, strictCommits: true })).toEqual(events);
  });

  it('is committed while the next one runs if one handler call takes the whole slice', async () => {
    const events = await eventsOf(4, { maxPollRecords: 2 }, slices);
    expect(events.slice(0, 2)).toEqual(['0-1', '2-3']);
  });
});

describe('a wait for a commit', () => {
  it('ends when the session closes, even if the broker refuses every commit', async () => {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.write(3);
    const refusal = 'COORDINATOR_LOAD_IN_PROGRESS';
    testBed.broker.faults.refuse({ operation: 'commit' }, refusal, { times: Infinity });
    const member = await testBed.started(undefined, { settings: { strictCommits: true } });
    await testBed.until(() => member.handled.length === 1);
    await testBed.runtime.advance(60_000);
    expect(member.offsets()).toEqual([0]);
    await testBed.end();
    expect(testBed.runtime.pendingTimers).toBe(0);
  });
});

describe('PollIntervalSafetyValve in a lane', () => {
  const batch = { listenerType: 'BATCH', maxPollIntervalMs: 10_000, maxPollRecords: 5 } as const;

  /** Starts a session whose handlers take three seconds each. */
  async function slow(settings: Partial<ConsumingSettings>) {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.write(7);
    const received: number[] = [];
    const start = testBed.runtime.now();
    const committed: number[] = [];
    const member = testBed.session(
      ({ receivedAt }) => {
        received.push(receivedAt - start);
        const ended = new Deferred<Outcome>();
        testBed.runtime.setTimer(() => ended.resolve(succeeded), 3_000);
        return ended.promise;
      },
      { settings: { ...batch, ...settings }, onCommit: (offset) => committed.push(offset) },
    );
    await testBed.done(member.session.start());
    await testBed.until(() => member.session.counts.succeeded === 7);
    await testBed.untilCommitted(7);
    return { testBed, member, received, committed };
  }

  it.each<[ConsumingSettings['listenerType'], Partial<ConsumingSettings>, readonly number[]]>([
    ['BATCH', {}, [3, 6, 7]],
    ['SINGLE', { ackMode: 'MANUAL' }, [3, 6, 7]],
    ['SINGLE', { ackMode: 'MANUAL_IMMEDIATE' }, upTo(7, 1)],
  ])(
    'ends a slice of a %s listener with %o at 70 %% of maxPollIntervalMs: commits its completed records, and redelivers the others',
    async (listenerType, settings, commits) => {
      const { testBed, member, received, committed } = await slow({ listenerType, ...settings });
      expect(member.offsets()).toEqual(upTo(7));
      // The first slice has three records in nine seconds. The time limit of the next slice begins with that slice.
      const begins = received.map((time) => Math.round(time / 1_000));
      expect(begins).toEqual([0, 0, 0, 9, 9, 9, 18]);
      expect(committed).toEqual(commits);
      const { counts } = member.session;
      expect(counts.slicesCut).toBe(2);
      expect(counts.handedBack).toBeGreaterThanOrEqual(2 + 2);
      expect(reconciles(counts)).toBe(true);
      await testBed.end();
    },
  );

  it.each<[ConsumingSettings['ackMode'], Partial<ConsumingSettings>]>([
    ['MANUAL_IMMEDIATE', {}],
    ['MANUAL', { listenerType: 'SINGLE' }],
  ])(
    'ends a slice at 70 %% of maxPollIntervalMs if the batch processor makes one call per record, by %s',
    async (ackMode, given) => {
      const { testBed, member, calls, committed } = await inCalls({ ackMode, ...given });
      const begins = calls.map(({ at }) => Math.round(at / 1_000));
      expect(calls.map(({ offset }) => offset)).toEqual(upTo(7));
      expect(begins).toEqual([0, 3, 6, 9, 12, 15, 18]);
      // The retry budget of each record starts with its own slice.
      expect(calls.map(({ turn }) => Math.round(turn / 1_000))).toEqual([0, 0, 0, 9, 9, 9, 18]);
      expect(committed).toEqual([3, 6, 7]);
      expect(member.session.counts).toMatchObject({ slicesCut: 2, membershipsGivenUp: 0 });
      expect(reconciles(member.session.counts)).toBe(true);
      expect(member.log.filter(({ level }) => level === 'warn')).toEqual([]);
      await testBed.end();
    },
  );

  /** Starts a batch processor whose calls take three seconds per record. */
  async function inCalls(settings: Partial<ConsumingSettings>) {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.write(7);
    const start = testBed.runtime.now();
    const calls: { readonly offset: number; readonly at: number; readonly turn: number }[] = [];
    const committed: number[] = [];
    const processor: RecordProcessor = {
      process: () => succeeded,
      processSlice: async ([first]: readonly Delivery[]) => {
        const { record, receivedAt } = first!;
        const at = testBed.runtime.now() - start;
        calls.push({ offset: record.offset, at, turn: receivedAt - start });
        await sleep(testBed.runtime, 3_000);
        return [succeeded];
      },
    };
    const member = testBed.session(undefined, {
      processor,
      settings: { ...batch, stuckHandlerMs: 4_000, ...settings },
      onCommit: (offset) => committed.push(offset),
    });
    await testBed.done(member.session.start());
    await testBed.until(() => member.session.counts.succeeded === 7);
    await testBed.untilCommitted(7);
    return { testBed, member, calls, committed };
  }

  it.each(['BATCH', 'SINGLE'] as const)(
    'does not cut a slice of a %s listener that ends before 70 %% of maxPollIntervalMs',
    async (listenerType) => {
      const { testBed, member } = await slow({ listenerType, maxPollIntervalMs: 60_000 });
      expect(member.session.counts).toMatchObject({ slicesCut: 0, handedBack: 0 });
      await testBed.end();
    },
  );
});
