import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, type SliceOutcome, succeeded } from '../../model/outcomes/outcome.js';
import { aFailure } from '../../model/outcomes/outcomes.spec-support.js';
import type { ConsumingSession } from '../session/consuming-session.js';
import { ConsumingTestBed, reconciles } from '../session/consuming-test-bed.spec-support.js';

const retried: Outcome = { kind: 'retried', tier: 1, delivery: 1 };
const refused: Outcome = aFailure({ reason: 'redeliver', error: new Error('no'), delayMs: 1_000 });

const atOnce: Outcome = aFailure({ reason: 'redeliver', batch: 'one-by-one' });
const handedBack: Outcome = { kind: 'handed-back' };

type Answer = (
  offsets: readonly number[],
  session: ConsumingSession,
) => readonly SliceOutcome[] | Promise<readonly SliceOutcome[]>;

let testBed: ConsumingTestBed;
let calls: (readonly number[])[];
let written: Deferred<Outcome>;

/** Starts a session whose batch calls are answered by the functions, and then by success. */
async function startWith(...answers: Answer[]) {
  await testBed.write(5);
  const member = testBed.session(undefined, {
    settings: { listenerType: 'BATCH', maxPollRecords: 5 },
    processor: {
      process: () => succeeded,
      processSlice: async (slice) => {
        const offsets = slice.map(({ record }) => record.offset);
        calls.push(offsets);
        return (await answers.shift()?.(offsets, member.session)) ?? offsets.map(() => succeeded);
      },
    },
  });
  await testBed.done(member.session.start());
  await testBed.until(() => calls.length > answers.length);
  await testBed.runtime.advance(10);
  return member;
}

beforeEach(async () => {
  testBed = await ConsumingTestBed.of(1);
  calls = [];
  written = new Deferred<Outcome>();
});

afterEach(() => testBed.end());

const firstIsBeingWritten: Answer = () => [written.promise];

describe('A slice with records that are redelivered at once and others that wait', () => {
  it('is read again from its first unfinished record, so that no record is skipped', async () => {
    const waiting: Outcome = { kind: 'handed-back', delayMs: 1_000 };
    const member = await startWith(() => [atOnce, handedBack, handedBack, waiting, handedBack]);
    await testBed.write(5);
    await testBed.runtime.advance(5_000);
    await testBed.untilCommitted(10);
    const handled = new Set(calls.slice(1).flat());
    expect([...handled].toSorted((one, other) => one - other)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
    expect(reconciles(member.session.counts)).toBe(true);
  });
});

describe('A record of a slice that is being written to another topic', () => {
  it('does not delay the records after it, but delays the commit', async () => {
    const member = await startWith(firstIsBeingWritten);
    expect(calls).toEqual([
      [0, 1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
    expect(await testBed.committed()).toBeUndefined();
    expect(member.session.counts).toMatchObject({ succeeded: 4, retried: 0, inFlight: 1 });
    written.resolve(retried);
    await testBed.untilCommitted(5);
    expect(member.session.counts).toMatchObject({ succeeded: 4, retried: 1, inFlight: 0 });
  });

  it('is delivered again alone if it could not be written', async () => {
    const member = await startWith(firstIsBeingWritten);
    written.resolve(refused);
    await testBed.runtime.advance(5_000);
    await testBed.untilCommitted(5);
    expect(calls.slice(2)).toEqual([[0]]);
    expect(reconciles(member.session.counts)).toBe(true);
  });

  it('ends the slice if it could not be written, so that no further record overtakes it', async () => {
    await startWith(firstIsBeingWritten, () => {
      written.resolve(refused);
      return [succeeded];
    });
    await testBed.runtime.advance(5_000);
    await testBed.untilCommitted(5);
    expect(calls.slice(1)).toEqual([
      [1, 2, 3, 4],
      [0, 2, 3, 4],
    ]);
  });

  it('is not read again if a record before it is redelivered', async () => {
    await startWith(() => [refused, written.promise]);
    written.resolve(retried);
    await testBed.runtime.advance(5_000);
    await testBed.untilCommitted(5);
    expect(calls.slice(1)).toEqual([[0, 2, 3, 4]]);
  });

  it('is not handled again if a record before it is given back while it is being written', async () => {
    const member = await startWith(
      () => [atOnce, handedBack, handedBack, written.promise, handedBack],
      async (_, session) => {
        await Promise.resolve();
        void session.pause('operator');
        return [succeeded];
      },
    );
    expect(calls).toEqual([
      [0, 1, 2, 3, 4],
      [0, 1, 2, 4],
    ]);
    member.session.resume('operator');
    await testBed.runtime.advance(1_000);
    written.resolve(retried);
    await testBed.untilCommitted(5);
    expect(calls.slice(2)).toEqual([[1, 2, 4]]);
  });

  it('is awaited when the session closes', async () => {
    const member = await startWith(firstIsBeingWritten);
    const closing = member.session.close({ drainMs: 10_000 });
    await testBed.runtime.advance(100);
    written.resolve(retried);
    expect(await testBed.done(closing)).toMatchObject({ complete: true, abandoned: [] });
    expect(await testBed.committed()).toBe(5);
  });

  it('is abandoned if it is not written before the session ends, and is not committed', async () => {
    const member = await startWith(firstIsBeingWritten);
    const report = await testBed.done(member.session.close({ drainMs: 100 }));
    expect(report).toMatchObject({ complete: false, abandoned: [{ offset: 0 }] });
    written.resolve(retried);
    await testBed.runtime.advance(100);
    expect(await testBed.committed()).toBe(0);
  });
});
