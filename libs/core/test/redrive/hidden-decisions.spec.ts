import type { Transaction } from '@nest-event-bus/broker';
import type { RedriveReport } from '../../src/redrive/running/redrive-report.js';
import { RecordingTestBus } from '../support/recording-test-bus.spec-support.js';
import { otherProcess } from './other-process.spec-support.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const LETTERS = ['1', '2', '3', '4'].map((value) => ({ partition: 1, value }));

/**
 * Begins a transaction in the partition of the ledger that has the decisions, as a process leaves it
 * behind that was killed. What is written there afterwards is not visible before its end.
 */
async function hideDecisions(): Promise<Transaction> {
  const producer = testBus.outside.producer({ transactionalId: 'killed' });
  const transaction = await testBus.done(producer.transaction());
  const record = { topic: 'orders.DLT.ledger', partition: 0, key: 'killed', value: null };
  await testBus.done(transaction.send([record]));
  return transaction;
}

const planned = async () => (await testBus.done(testBus.replay.plan('orders', { all: true }))).id;
const replayed = async () => (await testBus.values('orders')).slice(LETTERS.length);

/** The handler waits until it is told to end. */
function suspend(): { release(): void } {
  let release: (() => void) | undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  testBus.handle = () => released;
  return { release: () => release?.() };
}

describe('A decision beside the open transaction of another producer', () => {
  beforeEach(async () => {
    testBus = new RedriveTestBus();
    for (const topic of RecordingTestBus.topics) await testBus.topic(topic, 2);
    testBus.application = await testBus.startHandler(AT_ONCE);
    await testBus.write('orders', ...LETTERS);
    await testBus.runtime.advance(5_000);
  });

  it('is kept if it asks for a canary', async () => {
    const handler = suspend();
    const id = await planned();
    await hideDecisions();
    const run: Promise<RedriveReport> = Promise.resolve(
      testBus.replay.run('orders', id, { canary: 1 }),
    );
    await testBus.runtime.advance(10_000);
    expect(await replayed()).toEqual(['1']);
    handler.release();
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 4 });
  });

  it('about a canary lets the rest follow at once, and is made once', async () => {
    const handler = suspend();
    const events = testBus.listen();
    const id = await planned();
    const run: Promise<RedriveReport> = Promise.resolve(
      testBus.replay.run('orders', id, { canary: 1 }),
    );
    await testBus.runtime.advance(5_000);
    await hideDecisions();
    handler.release();
    await testBus.runtime.advance(5_000);
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 4 });
    const decisions = events.filter(({ name }) => name === 'redrive.canary-decided');
    expect(decisions).toMatchObject([{ verdict: 'good' }]);
  });

  it('to cancel ends the run of another process within seconds', async () => {
    testBus.cure();
    const id = await planned();
    const run = Promise.resolve(otherProcess(testBus).run('orders', id, { rate: 0.5 }));
    await testBus.runtime.advance(3_000);
    await hideDecisions();
    await testBus.done(testBus.replay.cancel('orders', id));
    expect(await testBus.done(testBus.replay.status('orders', id))).toMatchObject({
      state: 'cancelled',
    });
    const before = testBus.runtime.monotonic();
    const report = await testBus.done(run);
    expect(report.state).toBe('cancelled');
    expect(report.remaining).toBeGreaterThan(0);
    // The transaction stays open, and the run ends before the cluster would abort it.
    expect(testBus.runtime.monotonic() - before).toBeLessThan(5_000);
  });

  it('to mark letters is listed at once', async () => {
    await planned();
    await hideDecisions();
    const at = [{ partition: 1, offset: 0 }];
    const note = { by: 'ann', reason: 'test data' };
    await testBus.done(testBus.replay.markPermanentlyFailed('orders', { at }, note));
    expect(await testBus.done(testBus.replay.actions('orders'))).toMatchObject([note]);
  });
});

describe('A plan beside the open transaction of another producer', () => {
  it('is found at once, on any node', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    await planned();
    await hideDecisions();
    const before = testBus.runtime.monotonic();
    const id = await planned();
    const other = otherProcess(testBus);
    expect(await testBus.done(other.status('orders', id))).toMatchObject({ selected: 2 });
    expect(testBus.runtime.monotonic() - before).toBeLessThan(5_000);
  });

  it('is run as soon as the transaction has ended, if it hides what is said about letters', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    testBus.cure();
    await planned();
    const transaction = await hideDecisions();
    const run = Promise.resolve(testBus.replay.replay('orders', { all: true }));
    run.catch(() => undefined);
    await testBus.runtime.advance(5_000);
    await testBus.done(transaction.abort());
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 2 });
  });
});
