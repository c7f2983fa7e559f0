import type { RedriveReport } from '../../src/redrive/running/redrive-report.js';
import type { RedriveRun } from '../../src/redrive/running/redrive-run.js';
import type { RunOptions } from '../../src/redrive/redrive-request.js';
import { otherProcess } from './other-process.spec-support.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const LETTERS = ['1', '2', '3', '4', '5', '6', '7'];

/** Makes a plan of all letters, and returns its id. */
async function planned(): Promise<string> {
  return (await testBus.done(testBus.replay.plan('orders', { all: true }))).id;
}

/** Runs a plan without waiting for its end. */
function started(id: string, options: RunOptions): Promise<RedriveReport> & { run: RedriveRun } {
  const run = testBus.replay.run('orders', id, options);
  const finished = Promise.resolve(run);
  finished.catch(() => undefined);
  return Object.assign(finished, { run });
}

const statusOf = (id: string) => testBus.done(testBus.replay.status('orders', id));
const replayed = async () => (await testBus.values('orders')).slice(LETTERS.length);

/** The handler waits until it is told how the records with these values end. */
function suspend(): { release(): void } {
  let release: (() => void) | undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  testBus.handle = () => released;
  return { release: () => release?.() };
}

describe('A canary of several batches', () => {
  it('is never larger than it was asked to be, although batches are read ahead', async () => {
    const letters = Array.from({ length: 20 }, (_, index) => String(index));
    testBus = await RedriveTestBus.withLetters(letters);
    const handler = suspend();
    const id = await planned();
    const run = started(id, { canary: 12, rate: 50 });
    await testBus.runtime.advance(60_000);
    expect(await statusOf(id)).toMatchObject({ state: 'awaiting-outcomes', replayed: 12 });
    handler.release();
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 20 });
  });
});

describe('A redrive with a canary', () => {
  beforeEach(async () => {
    testBus = await RedriveTestBus.withLetters(LETTERS);
  });

  it('replays the rest by itself when all letters of the canary were handled', async () => {
    testBus.cure();
    const id = await planned();
    const report = await testBus.done(started(id, { canary: 2 }));
    expect(report).toMatchObject({
      state: 'completed',
      replayed: 7,
      canary: { letters: 2, good: 2, bad: 0, undecided: 0, verdict: 'good' },
    });
    await testBus.runtime.advance(5_000);
    expect(testBus.handled).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('that fails stops the rest, also after a restart', async () => {
    testBus.handle = ({ value }) => {
      if (value === 2) throw new Error('not cured');
    };
    const events = testBus.listen();
    const id = await planned();
    const report = await testBus.done(started(id, { canary: 3 }));
    await testBus.runtime.advance(100);
    expect(events).toMatchObject([
      { name: 'redrive.started' },
      { name: 'redrive.canary-decided', verdict: 'bad', reason: 'failed-again' },
      { name: 'redrive.ended', state: 'rejected', replayed: 3, remaining: 4 },
    ]);
    expect(testBus.log.warnings.join()).toContain('The canary of a redrive is bad');
    expect(report).toMatchObject({
      state: 'rejected',
      replayed: 3,
      remaining: 4,
      canary: { verdict: 'bad', reason: 'failed-again', bad: 1 },
    });
    expect(await replayed()).toEqual(['1', '2', '3']);
    await testBus.done(testBus.application.close());
    testBus.application = await testBus.startHandler(AT_ONCE);
    expect(await statusOf(id)).toMatchObject({ state: 'rejected', remaining: 4 });
    for (const refused of [
      () => Promise.resolve(testBus.replay.run('orders', id)),
      () => testBus.replay.approve('orders', id),
    ])
      await expect(testBus.done<unknown>(refused())).rejects.toMatchObject({
        code: 'REDRIVE_REFUSED',
        message: expect.stringContaining('Make a new plan'),
      });
    // The rest is still open for another plan.
    expect(await testBus.done(testBus.replay.plan('orders', { all: true }))).toMatchObject({
      selected: 5,
    });
    expect(await replayed()).toEqual(['1', '2', '3']);
  });

  it('is undecided, and never good, before the last outcome is known', async () => {
    const handler = suspend();
    const id = await planned();
    const run = started(id, { canary: 2 });
    await testBus.runtime.advance(120_000);
    expect(await replayed()).toEqual(['1', '2']);
    expect(await statusOf(id)).toMatchObject({
      state: 'awaiting-outcomes',
      canary: { undecided: 2, verdict: 'undecided' },
    });
    handler.release();
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 7 });
  });

  it('is bad if a letter stays undecided for longer than allowed', async () => {
    suspend();
    const id = await planned();
    const run = started(id, { canary: { letters: 2, undecidedFor: '1m' } });
    await testBus.runtime.advance(50_000);
    expect(await statusOf(id)).toMatchObject({ state: 'awaiting-outcomes' });
    expect(await testBus.done(run)).toMatchObject({
      state: 'rejected',
      canary: { verdict: 'bad', reason: 'undecided-for-too-long', undecided: 2 },
    });
    expect(await replayed()).toEqual(['1', '2']);
    testBus.handle = () => undefined;
  });

  it('waits for the approval of an operator, which another process may give', async () => {
    testBus.cure();
    const id = await planned();
    const run = started(id, { canary: { letters: 2, continue: 'on-approval' } });
    await testBus.runtime.advance(60_000);
    expect(await replayed()).toEqual(['1', '2']);
    expect(await statusOf(id)).toMatchObject({
      state: 'awaiting-approval',
      canary: { verdict: 'good', good: 2 },
    });
    await testBus.done(otherProcess(testBus).approve('orders', id, { by: 'ann' }));
    expect(await testBus.done(run)).toMatchObject({
      state: 'completed',
      replayed: 7,
      canary: { approvedBy: 'ann' },
    });
  });

  it('is continued by another process, which keeps to the canary', async () => {
    const handler = suspend();
    const id = await planned();
    const first = started(id, { canary: 2 });
    await testBus.runtime.advance(5_000);
    first.run.stop();
    expect(await testBus.done(first)).toMatchObject({ state: 'stopped', replayed: 2 });
    const second = Promise.resolve(otherProcess(testBus).run('orders', id));
    await testBus.runtime.advance(10_000);
    expect(await replayed()).toEqual(['1', '2']);
    handler.release();
    expect(await testBus.done(second)).toMatchObject({ state: 'completed', replayed: 7 });
  });

  it('is cancelled while it waits', async () => {
    suspend();
    const id = await planned();
    const run = started(id, { canary: 2 });
    await testBus.runtime.advance(5_000);
    await testBus.done(testBus.replay.cancel('orders', id));
    expect(await testBus.done(run)).toMatchObject({ state: 'cancelled', replayed: 2 });
    testBus.handle = () => undefined;
  });

  it('goes on without a verdict if an operator approves the redrive before the canary is decided', async () => {
    suspend();
    const events = testBus.listen();
    const id = await planned();
    const run = started(id, { canary: 2 });
    await testBus.runtime.advance(5_000);
    await testBus.done(testBus.replay.approve('orders', id, { by: 'ann' }));
    expect(await testBus.done(run)).toMatchObject({
      state: 'completed',
      canary: { verdict: 'undecided', approvedBy: 'ann' },
    });
    expect(events).toMatchObject([
      { name: 'redrive.started', operation: id, remaining: 7 },
      { name: 'redrive.approved', operation: id, by: 'ann' },
      { name: 'redrive.ended', operation: id, state: 'completed' },
    ]);
    testBus.handle = () => undefined;
  });

  it('replaces letters that are no longer open by later ones', async () => {
    testBus.cure();
    const id = await planned();
    const at = [0, 1].map((offset) => ({ partition: 0, offset }));
    await testBus.done(
      testBus.replay.markPermanentlyFailed('orders', { at }, { reason: 'test data' }),
    );
    const handler = suspend();
    const run = started(id, { canary: 2 });
    await testBus.runtime.advance(5_000);
    expect(await replayed()).toEqual(['3', '4']);
    handler.release();
    expect(await testBus.done(run)).toMatchObject({
      state: 'completed',
      selected: 7,
      replayed: 5,
      skipped: { 'permanently-failed': 2 },
      failed: 0,
      remaining: 0,
    });
  });

  it('is refused if it comes too late, or differs from the one that runs', async () => {
    testBus.cure();
    const id = await planned();
    const run = started(id, { rate: 1 });
    await testBus.runtime.advance(2_500);
    run.run.stop();
    await testBus.done(run);
    await expect(testBus.done(started(id, { canary: 1 }))).rejects.toMatchObject({
      message: expect.stringContaining('has begun without a canary'),
    });
    await expect(testBus.done(testBus.replay.approve('orders', id))).rejects.toMatchObject({
      message: expect.stringContaining('has no canary'),
    });
    suspend();
    const other = (await testBus.done(testBus.replay.plan('orders', { all: true }))).id;
    const second = started(other, { canary: 1 });
    await testBus.runtime.advance(5_000);
    const elsewhere = otherProcess(testBus).run('orders', other, { canary: 2 });
    await expect(testBus.done(Promise.resolve(elsewhere))).rejects.toMatchObject({
      message: expect.stringContaining('has another canary'),
    });
    second.run.stop();
    testBus.handle = () => undefined;
    await testBus.done(second);
  });

  it.each<[object]>([
    [{ canary: 0 }],
    [{ canary: { letters: 1.5 } }],
    [{ canary: { letters: 1, continue: 'perhaps' } }],
    [{ canary: { letters: 1, undecidedFor: 'soon' } }],
    [{ canary: { letters: 1, size: 2 } }],
    [{ ramp: { from: 5, to: 2, every: '1s' } }],
    [{ ramp: { from: 1, to: 2, every: 0 } }],
    [{ ramp: { from: 1, to: 2, every: '1s' }, rate: 5 }],
    [{ brakes: { returned: 0 } }],
    [{ brakes: { circuit: 'yes' } }],
    [{ brakes: { lag: -1 } }],
    [{ brakes: { speed: 1 } }],
    [{ rate: 0 }],
    [{ speed: 1 }],
  ])('refuses the options %j before it reads anything', async (options) => {
    const run = () => testBus.replay.run('orders', 'no such plan', options);
    expect(run).toThrow(expect.objectContaining({ code: 'INVALID_DEAD_LETTER_FILTER' }));
  });
});
