import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { type Outcome, type RecordProcessor, succeeded } from '../../model/outcomes/outcome.js';
import {
  type Handle,
  IntakeWorld,
  reconciles,
  upTo,
} from '../session/intake-world.spec-support.js';
import type { IntakeSettings } from '../session/intake.js';

/** What reaches the handler, and what the broker stores of it, in the order in which it happens. */
async function courseOf(
  records: number,
  settings: Partial<IntakeSettings>,
  processor?: (say: (what: string) => void) => RecordProcessor,
) {
  const world = await IntakeWorld.of(1);
  await world.write(records);
  const course: string[] = [];
  const say = (what: string): void => void course.push(what);
  const handle: Handle = ({ record }) => {
    say(`${record.offset}`);
    return succeeded;
  };
  const underTest = world.intake(handle, {
    settings,
    processor: processor?.(say),
    onCommit: (offset) => say(`stored ${offset}`),
  });
  await world.done(underTest.intake.start());
  await world.untilCommitted(records);
  await world.end();
  return course;
}

const slices = (say: (what: string) => void): RecordProcessor => ({
  process: () => succeeded,
  processSlice: (slice) => {
    say(slice.map(({ record }) => record.offset).join('-'));
    return slice.map(() => succeeded);
  },
});

describe('a record that is done', () => {
  it('is committed while the next ones run, by MANUAL_IMMEDIATE', async () => {
    const course = await courseOf(4, { ackMode: 'MANUAL_IMMEDIATE' });
    expect(course.slice(0, 4)).toEqual(['0', '1', '2', '3']);
    expect(course.at(-1)).toBe('stored 4');
  });

  it('is committed before the next one begins, where commits are strict', async () => {
    expect(await courseOf(3, { ackMode: 'MANUAL_IMMEDIATE', strictCommits: true })).toEqual([
      '0',
      'stored 1',
      '1',
      'stored 2',
      '2',
      'stored 3',
    ]);
  });

  it('is committed with its slice, and that before the next one begins, by strict MANUAL', async () => {
    const settings = { ackMode: 'MANUAL', strictCommits: true, maxPollRecords: 2 } as const;
    expect(await courseOf(4, settings)).toEqual(['0', '1', 'stored 2', '2', '3', 'stored 4']);
  });

  it('is committed before the next of its key begins, where commits are strict', async () => {
    const processing = { by: 'key', maxConcurrency: 4 } as const;
    const settings = { processing, strictCommits: true } as const;
    expect(await courseOf(2, settings)).toEqual(['0', 'stored 1', '1', 'stored 2']);
  });
});

describe('a slice of a BATCH listener', () => {
  const batch = { listenerType: 'BATCH', maxPollRecords: 2 } as const;

  it('is committed as a whole, before the next one begins, by MANUAL_IMMEDIATE', async () => {
    const course = ['0', '1', 'stored 2', '2', '3', 'stored 4'];
    expect(await courseOf(4, { ...batch, ackMode: 'MANUAL_IMMEDIATE' })).toEqual(course);
  });

  it('is so, too, where one call takes it', async () => {
    const settings = { ackMode: 'MANUAL_IMMEDIATE', maxPollRecords: 2 } as const;
    expect(await courseOf(4, settings, slices)).toEqual(['0-1', 'stored 2', '2-3', 'stored 4']);
  });

  it('is committed while the next one runs, by MANUAL', async () => {
    const course = await courseOf(4, { ...batch, ackMode: 'MANUAL' });
    expect(course.indexOf('stored 2')).toBeGreaterThan(course.indexOf('2'));
    expect(course.at(-1)).toBe('stored 4');
  });
});

describe('a wait for a commit', () => {
  it('ends with the session, whatever the broker does', async () => {
    const world = await IntakeWorld.of(1);
    await world.write(3);
    const refusal = 'COORDINATOR_LOAD_IN_PROGRESS';
    world.broker.faults.refuse({ operation: 'commit' }, refusal, { times: Infinity });
    const member = await world.started(undefined, { settings: { strictCommits: true } });
    await world.until(() => member.handled.length === 1);
    await world.runtime.advance(60_000);
    expect(member.offsets()).toEqual([0]);
    await world.end();
    expect(world.runtime.pendingTimers).toBe(0);
  });
});

describe('the safety valve', () => {
  const batch = { listenerType: 'BATCH', maxPollIntervalMs: 10_000, maxPollRecords: 5 } as const;

  /** Handlers of three seconds each. */
  async function slow(settings: Partial<IntakeSettings>) {
    const world = await IntakeWorld.of(1);
    await world.write(7);
    const received: number[] = [];
    const start = world.runtime.now();
    const committed: number[] = [];
    const member = world.intake(
      ({ receivedAt }) => {
        received.push(receivedAt - start);
        const ended = new Deferred<Outcome>();
        world.runtime.setTimer(() => ended.resolve(succeeded), 3_000);
        return ended.promise;
      },
      { settings: { ...batch, ...settings }, onCommit: (offset) => committed.push(offset) },
    );
    await world.done(member.intake.start());
    await world.until(() => member.intake.counts.succeeded === 7);
    await world.untilCommitted(7);
    return { world, member, received, committed };
  }

  it.each<[IntakeSettings['listenerType'], Partial<IntakeSettings>, readonly number[]]>([
    ['BATCH', {}, [3, 6, 7]],
    ['SINGLE', { ackMode: 'MANUAL' }, [3, 6, 7]],
    ['SINGLE', { ackMode: 'MANUAL_IMMEDIATE' }, upTo(7, 1)],
  ])(
    'of a %s listener with %o ends a slice at 70 %% of maxPollIntervalMs: what is done is committed, the rest begins anew',
    async (listenerType, settings, commits) => {
      const { world, member, received, committed } = await slow({ listenerType, ...settings });
      expect(member.offsets()).toEqual(upTo(7));
      // Three records in nine seconds, then a slice with a clock of its own.
      const begins = received.map((time) => Math.round(time / 1_000));
      expect(begins).toEqual([0, 0, 0, 9, 9, 9, 18]);
      expect(committed).toEqual(commits);
      const { counts } = member.intake;
      expect(counts.slicesCut).toBe(2);
      expect(counts.handedBack).toBeGreaterThanOrEqual(2 + 2);
      expect(reconciles(counts)).toBe(true);
      await world.end();
    },
  );

  it.each<[IntakeSettings['ackMode'], Partial<IntakeSettings>]>([
    ['MANUAL_IMMEDIATE', {}],
    ['MANUAL', { listenerType: 'SINGLE' }],
  ])('ends a slice that its processor takes record by record, by %s', async (ackMode, given) => {
    const { world, member, calls, committed } = await inCalls({ ackMode, ...given });
    const begins = calls.map(({ at }) => Math.round(at / 1_000));
    expect(calls.map(({ offset }) => offset)).toEqual(upTo(7));
    expect(begins).toEqual([0, 3, 6, 9, 12, 15, 18]);
    // Each has its budget from the begin of its own slice.
    expect(calls.map(({ turn }) => Math.round(turn / 1_000))).toEqual([0, 0, 0, 9, 9, 9, 18]);
    expect(committed).toEqual([3, 6, 7]);
    expect(member.intake.counts).toMatchObject({ slicesCut: 2, membershipsGivenUp: 0 });
    expect(reconciles(member.intake.counts)).toBe(true);
    expect(member.log.filter(({ level }) => level === 'warn')).toEqual([]);
    await world.end();
  });

  /** A processor of slices, each of whose calls takes three seconds for one record. */
  async function inCalls(settings: Partial<IntakeSettings>) {
    const world = await IntakeWorld.of(1);
    await world.write(7);
    const start = world.runtime.now();
    const calls: { readonly offset: number; readonly at: number; readonly turn: number }[] = [];
    const committed: number[] = [];
    const processor: RecordProcessor = {
      process: () => succeeded,
      processSlice: async ([first]: readonly Delivery[]) => {
        const { record, receivedAt } = first!;
        const at = world.runtime.now() - start;
        calls.push({ offset: record.offset, at, turn: receivedAt - start });
        await sleep(world.runtime, 3_000);
        return [succeeded];
      },
    };
    const member = world.intake(undefined, {
      processor,
      settings: { ...batch, stuckHandlerMs: 4_000, ...settings },
      onCommit: (offset) => committed.push(offset),
    });
    await world.done(member.intake.start());
    await world.until(() => member.intake.counts.succeeded === 7);
    await world.untilCommitted(7);
    return { world, member, calls, committed };
  }

  it.each(['BATCH', 'SINGLE'] as const)(
    'leaves a slice of a %s listener alone that is within its time',
    async (listenerType) => {
      const { world, member } = await slow({ listenerType, maxPollIntervalMs: 60_000 });
      expect(member.intake.counts).toMatchObject({ slicesCut: 0, handedBack: 0 });
      await world.end();
    },
  );
});
