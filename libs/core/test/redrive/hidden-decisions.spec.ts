import type { ProducerSession, Transaction } from '@nest-event-bus/broker';
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

describe('A canary whose decisions are hidden by the transaction of another producer', () => {
  beforeEach(async () => {
    testBus = new RedriveTestBus();
    for (const topic of RecordingTestBus.topics) await testBus.topic(topic, 2);
    testBus.application = await testBus.startHandler(AT_ONCE);
    await testBus.write('orders', ...LETTERS);
    await testBus.runtime.advance(5_000);
  });

  it('is replayed first all the same', async () => {
    const handler = suspend();
    const id = await planned();
    const transaction = await hideDecisions();
    const run: Promise<RedriveReport> = Promise.resolve(
      testBus.replay.run('orders', id, { canary: 1 }),
    );
    await testBus.runtime.advance(10_000);
    expect(await replayed()).toEqual(['1']);
    await testBus.done(transaction.abort());
    handler.release();
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 4 });
  });

  it('is decided once, and the rest waits until the verdict is visible', async () => {
    const handler = suspend();
    const events = testBus.listen();
    const id = await planned();
    const run: Promise<RedriveReport> = Promise.resolve(
      testBus.replay.run('orders', id, { canary: 1 }),
    );
    await testBus.runtime.advance(5_000);
    const transaction = await hideDecisions();
    handler.release();
    await testBus.runtime.advance(10_000);
    const decisions = () => events.filter(({ name }) => name === 'redrive.canary-decided');
    expect(decisions()).toMatchObject([{ verdict: 'good' }]);
    expect(await replayed()).toEqual(['1']);
    await testBus.done(transaction.abort());
    expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 4 });
    expect(decisions()).toHaveLength(1);
  });
});

describe('A plan that is hidden by the transaction of another producer', () => {
  it('is run as soon as the transaction has ended', async () => {
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

  it('is stored also if the broker does not say at which offset', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const replay = otherProcess(testBus, (driver) => ({
      ...{ name: driver.name, capabilities: driver.capabilities, close: () => driver.close() },
      consumer: (options) => driver.consumer(options),
      admin: () => driver.admin(),
      producer: (options) => withoutOffsets(driver.producer(options)),
    }));
    const { id } = await testBus.done(replay.plan('orders', { all: true }));
    expect(await testBus.done(testBus.replay.status('orders', id))).toMatchObject({ selected: 2 });
  });
});

const withoutOffsets = (producer: ProducerSession): ProducerSession => ({
  send: async (records, options) =>
    (await producer.send(records, options)).map((written) => ({ ...written, offset: -1 })),
  transaction: () => producer.transaction(),
  close: () => producer.close(),
});
