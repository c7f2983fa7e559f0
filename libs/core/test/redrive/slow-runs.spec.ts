import type { DltReplayService } from '../../src/redrive/dlt-replay-service.js';
import type { RedriveReport } from '../../src/redrive/running/redrive-report.js';
import { otherProcess } from './other-process.spec-support.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const LETTERS = ['1', '2', '3', '4', '5', '6'];

/** One letter in 30 seconds: longer than the silence after which a node takes a partition over. */
const SLOW = { rate: 1 / 30 };

async function afterMinutes<T>(minutes: number, work: Promise<T>): Promise<T> {
  for (let minute = 0; minute < minutes; minute++) await testBus.runtime.advance(60_000);
  return testBus.done(work);
}

const runs = (nodes: readonly DltReplayService[], id: string): Promise<RedriveReport[]> =>
  Promise.all(nodes.map((node) => Promise.resolve(node.run('orders', id, SLOW))));

async function claims(): Promise<number> {
  const entries = await testBus.records('orders.DLT.ledger');
  const owners = entries
    .filter(({ key }) => String(key).startsWith('owner/'))
    .map(({ value }) => JSON.parse(String(value)) as { readonly claim: string });
  return new Set(owners.map(({ claim }) => claim).filter((claim) => claim !== '')).size;
}

describe('A redrive that waits longer between letters than a node waits for another one', () => {
  beforeEach(async () => {
    testBus = await RedriveTestBus.withLetters(LETTERS);
    testBus.cure();
  });

  it('keeps its partition, so that two nodes never fence each other again and again', async () => {
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const nodes = [testBus.replay, otherProcess(testBus)];
    const reports = await afterMinutes(10, runs(nodes, id));
    for (const report of reports) expect(report).toMatchObject({ state: 'completed', replayed: 6 });
    // Each node claims once at its start, and the fenced one once more at the end.
    expect(await claims()).toBeLessThanOrEqual(3);
  });

  it('is taken over by another node if its own node is gone', async () => {
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const first = testBus.replay.run('orders', id, SLOW);
    await testBus.runtime.advance(45_000);
    const second = Promise.resolve(otherProcess(testBus).run('orders', id, SLOW));
    await testBus.runtime.advance(5_000);
    first.stop();
    await testBus.finished(first);
    expect(await afterMinutes(10, second)).toMatchObject({ state: 'completed', replayed: 6 });
  });
});
