import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const FIRST = { at: [{ partition: 0, offset: 0 }] };
const NOTE = { by: 'ann', reason: 'test data' };

const mark = () => testBus.done(testBus.replay.markPermanentlyFailed('orders', FIRST, NOTE));
const reopen = () => testBus.done(testBus.replay.reopen('orders', FIRST, NOTE));
const planned = () => testBus.done(testBus.replay.plan('orders', { all: true }));

/** Opens the letter and gives it up again, so often. */
async function decide(times: number): Promise<void> {
  for (let decisions = 0; decisions < times; decisions++) {
    await reopen();
    await mark();
  }
}

describe('A letter about which several decisions followed a plan', () => {
  beforeEach(async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    testBus.cure();
  });

  it.each([1, 2, 3])(
    'has in its run the status that the plan saw, after %s pairs',
    async (times) => {
      await mark();
      const plan = await planned();
      expect(plan.selected).toBe(1);
      await decide(times);
      const report = await testBus.finished(testBus.replay.run('orders', plan.id));
      expect(report).toMatchObject({ selected: 1, replayed: 1, skipped: {}, remaining: 0 });
    },
  );

  it('counts as selected if it was open for the plan', async () => {
    const plan = await planned();
    await mark();
    await decide(2);
    const report = await testBus.finished(testBus.replay.run('orders', plan.id));
    expect(report).toMatchObject({
      selected: 2,
      replayed: 1,
      skipped: { 'permanently-failed': 1 },
      remaining: 0,
    });
  });

  it('is left where it is after more decisions than the ledger remembers', async () => {
    await mark();
    const plan = await planned();
    await decide(30);
    await reopen();
    const report = await testBus.finished(testBus.replay.run('orders', plan.id));
    expect(report).toMatchObject({ selected: 1, replayed: 1, skipped: {}, remaining: 0 });
    expect(await testBus.values('orders')).toEqual(['1', '2', '2']);
  });
});
