import { DltStatsService } from '../../src/redrive/stats/dlt-stats-service.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const at = (...offsets: readonly number[]) => ({
  at: offsets.map((offset) => ({ partition: 0, offset })),
});

const NOTE = { by: 'ann', reason: 'the customer has left' };

const openLetters = async (): Promise<readonly number[]> => {
  const { letters } = await testBus.done(testBus.replay.list('orders', { status: 'open' }));
  return letters.map(({ position }) => position.offset);
};

const stats = (options = {}) =>
  testBus.done(testBus.application.get(DltStatsService).stats('orders', options));

describe('A dead letter that is marked as permanently failed', () => {
  it('is no longer open, and no redrive replays it', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
    testBus.cure();
    const { replay } = testBus;
    const report = await testBus.done(replay.markPermanentlyFailed('orders', at(1), NOTE));
    expect(report).toEqual({ changed: 1, unchanged: 0 });
    expect(await openLetters()).toEqual([0, 2]);
    const plan = await testBus.done(replay.plan('orders', { all: true }));
    expect(plan).toMatchObject({ selected: 2, skipped: { 'permanently-failed': 1 } });
    await testBus.finished(replay.run('orders', plan.id));
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([1, 3]);
    const { letters } = await testBus.done(replay.list('orders'));
    expect(letters[1]).toMatchObject({ status: 'permanently-failed', decision: NOTE });
  });

  it('is skipped by a plan that was made before, and the figures add up', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
    testBus.cure();
    const { replay } = testBus;
    const { id } = await testBus.done(replay.plan('orders', { all: true }));
    await testBus.done(replay.markPermanentlyFailed('orders', at(1), NOTE));
    const report = await testBus.finished(replay.run('orders', id));
    expect(report).toMatchObject({
      state: 'completed',
      selected: 3,
      replayed: 2,
      skipped: { 'permanently-failed': 1 },
      remaining: 0,
    });
  });

  it('is open again after it was reopened, but not for an earlier plan', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    testBus.cure();
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', at(0), NOTE));
    const early = await testBus.done(replay.plan('orders', { all: true }));
    expect(early.selected).toBe(1);
    await testBus.done(replay.reopen('orders', at(0), { reason: 'back again' }));
    expect(await openLetters()).toEqual([0, 1]);
    expect(await testBus.finished(replay.run('orders', early.id))).toMatchObject({ replayed: 1 });
    expect(await openLetters()).toEqual([0]);
    const late = await testBus.finished(replay.replay('orders', { all: true }));
    expect(late).toMatchObject({ selected: 1, replayed: 1 });
  });

  it('can be selected by a filter', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { letters } = await testBus.done(testBus.replay.list('orders'));
    const where = { group: letters[0]!.group };
    const marking = testBus.replay.markPermanentlyFailed('orders', { where }, NOTE);
    expect(await testBus.done(marking)).toEqual({ changed: 2, unchanged: 0 });
    expect(await openLetters()).toEqual([]);
  });

  it('may be marked while a redrive of its partition runs', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3', '4', '5', '6']);
    testBus.cure();
    const { replay } = testBus;
    const run = replay.replay('orders', { all: true, rate: 1 });
    await testBus.runtime.advance(1_500);
    await testBus.done(replay.markPermanentlyFailed('orders', at(4), NOTE));
    const began = testBus.runtime.now();
    const report = await testBus.finished(run);
    expect(report).toMatchObject({
      state: 'completed',
      replayed: 5,
      skipped: { 'permanently-failed': 1 },
    });
    // The mark has released the partition, so the run does not wait for silence.
    expect(testBus.runtime.now() - began).toBeLessThan(9_000);
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([1, 2, 3, 4, 6]);
  });
});

describe('A purge', () => {
  it('by age deletes old letters and what the ledger says about them, never younger ones', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', at(0), NOTE));
    await testBus.runtime.advance(3_600_000);
    await testBus.fails('3');
    const report = await testBus.done(replay.purge('orders', { olderThan: '10m', by: 'ann' }));
    expect(report).toEqual({ deleted: 2, partitions: [{ partition: 0, low: 2, deleted: 2 }] });
    expect(await testBus.deadLetters()).toEqual(['3']);
    const ledger = await testBus.records('orders.DLT.ledger');
    const [last] = ledger.filter(({ key }) => String(key).startsWith('letter/')).slice(-1);
    expect(last?.value).toBeNull();
    expect(await stats()).toMatchObject({ count: 1, byStatus: { open: 1 } });
  });

  it('by plan stops in front of a letter that is open and not part of the plan', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3', '4']);
    const { replay } = testBus;
    const where = { originalOffset: { from: 0, to: 2 } };
    const { id } = await testBus.done(replay.plan('orders', { where }));
    const report = await testBus.done(replay.purge('orders', { plan: id }));
    expect(report).toMatchObject({ deleted: 2 });
    expect(await testBus.deadLetters()).toEqual(['3', '4']);
    const beyond = await testBus.done(
      replay.plan('orders', { where: { originalOffset: { from: 3 } } }),
    );
    expect(await testBus.done(replay.purge('orders', { plan: beyond.id }))).toEqual({
      deleted: 0,
      partitions: [{ partition: 0, low: 2, deleted: 0, stoppedBy: 'not-in-plan' }],
    });
  });

  it('by plan never deletes an open letter that was not open when the plan was made', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', at(0), NOTE));
    const { id } = await testBus.done(replay.plan('orders', { all: true }));
    const kept = {
      deleted: 0,
      partitions: [{ partition: 0, low: 0, deleted: 0, stoppedBy: 'not-in-plan' }],
    };
    await testBus.done(replay.reopen('orders', at(0), NOTE));
    expect(await testBus.done(replay.purge('orders', { plan: id }))).toEqual(kept);
    // The ledger no longer says that it was marked before the plan.
    await testBus.done(replay.markPermanentlyFailed('orders', at(0), NOTE));
    await testBus.done(replay.reopen('orders', at(0), NOTE));
    expect(await testBus.done(replay.purge('orders', { plan: id }))).toEqual(kept);
    expect(await testBus.deadLetters()).toEqual(['1', '2']);
  });

  it('by plan is refused after the dead-letter topic was created again', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    const { id } = await testBus.done(replay.plan('orders', { all: true }));
    await testBus.done(testBus.outside.admin().deleteTopics(['orders.DLT']));
    await testBus.topic('orders.DLT');
    await testBus.fails('3', '4');
    await expect(testBus.done(replay.purge('orders', { plan: id }))).rejects.toMatchObject({
      code: 'REDRIVE_REFUSED',
      message: expect.stringContaining("topic 'orders.DLT' was deleted and created again"),
    });
    expect(await testBus.deadLetters()).toEqual(['3', '4']);
  });

  it('never deletes a letter of another group', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    const headers = [{ key: 'x-eventbus-group-id', value: 'billing' }];
    await testBus.write('orders.DLT', { value: '2', headers });
    await testBus.fails('3');
    await testBus.runtime.advance(3_600_000);
    const report = await testBus.done(testBus.replay.purge('orders', { olderThan: '1m' }));
    expect(report.partitions).toEqual([
      { partition: 0, low: 1, deleted: 1, stoppedBy: 'other-binding' },
    ]);
    expect(await testBus.deadLetters()).toEqual(['2', '3']);
  });

  it('is refused without exactly one of age and plan, and with a field that it has not', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    for (const request of [
      {},
      { olderThan: '1h', plan: 'x' },
      { olderThan: 'soon' },
      { olderThan: '1h', dryRun: true },
    ] as const)
      await expect(
        testBus.done(testBus.replay.purge('orders', request as { olderThan: '1h' })),
      ).rejects.toMatchObject({ code: 'INVALID_DEAD_LETTER_FILTER' });
  });
});

describe('The record of actions', () => {
  it('says who has marked or purged what, why, and with which result', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', at(0), NOTE));
    await testBus.runtime.advance(60_000);
    await testBus.done(replay.purge('orders', { olderThan: '1s', by: 'bob' }));
    expect(await testBus.done(replay.actions('orders'))).toMatchObject([
      { action: 'purge', by: 'bob', result: { deleted: 2 } },
      { action: 'mark-permanently-failed', ...NOTE, result: { changed: 1 } },
    ]);
  });

  it('are kept of a filter with offsets beyond the exact range of numbers', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2'], AT_ONCE);
    const { replay } = testBus;
    const where = { originalOffset: { from: 1n, to: 9_007_199_254_740_993n } };
    const marked = await testBus.done(replay.markPermanentlyFailed('orders', { where }, NOTE));
    expect(marked).toEqual({ changed: 1, unchanged: 0 });
    expect(await testBus.done(replay.actions('orders'))).toMatchObject([
      { request: { where: { originalOffset: { from: '1', to: '9007199254740993' } } } },
    ]);
  });

  it('are not kept of a request that is refused', async () => {
    testBus = await RedriveTestBus.withLetters(['1'], AT_ONCE);
    const { replay } = testBus;
    const wrong: readonly unknown[] = [
      { where: {} },
      { where: { nothing: '1' } },
      { at: [] },
      { at: [{ partition: 0, offset: -1 }] },
      { at: [{ partition: 0, offset: 0 }], where: { key: '1' } },
    ];
    for (const letters of wrong)
      await expect(
        testBus.done(replay.markPermanentlyFailed('orders', letters as never, NOTE)),
      ).rejects.toMatchObject({ code: 'INVALID_DEAD_LETTER_FILTER' });
    expect(await testBus.done(replay.actions('orders'))).toEqual([]);
  });
});

describe('The statistics of dead letters', () => {
  it('add up to what is there', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3', '4'], AT_ONCE);
    const { replay } = testBus;
    await testBus.done(replay.markPermanentlyFailed('orders', at(3), NOTE));
    testBus.cure();
    await testBus.finished(replay.replay('orders', { limit: 1 }));
    const found = await stats();
    expect(found).toMatchObject({
      count: 4,
      byStatus: { open: 2, replayed: 1, 'permanently-failed': 1 },
      byException: { Error: 2 },
      byReason: { RETRIES_EXHAUSTED: 2 },
      byTier: { 0: 2 },
      byAge: { under1h: 2, under1d: 0, under7d: 0, older: 0 },
      byOriginalPartition: { 0: 2 },
      groups: [{ count: 2 }],
    });
    expect(found.oldest).toBeLessThanOrEqual(found.newest!);
    expect(found.sampled).toBeUndefined();
  });

  it('report that only a part of the letters was read', async () => {
    testBus = await RedriveTestBus.withLetters(Array.from({ length: 100 }, (_, n) => String(n)));
    const found = await stats({ mostRead: 20 });
    expect(found.sampled?.total).toBe(100);
    expect(found.sampled?.read).toBe(found.count);
    expect(found.count).toBeGreaterThanOrEqual(20);
    expect(found.count).toBeLessThanOrEqual(40);
  });

  it('count no letter twice if a partition has fewer letters than a sample has pieces', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
    const found = await stats({ mostRead: 2 });
    expect(found.sampled?.total).toBe(3);
    expect(found.count).toBeLessThanOrEqual(3);
    expect(found.count).toBeGreaterThan(0);
  });

  it('are empty before the first dead letter', async () => {
    testBus = await RedriveTestBus.withLetters([]);
    expect(await stats()).toMatchObject({ count: 0, byStatus: { open: 0 } });
  });
});

describe('An age in a filter', () => {
  it('selects letters to list and to mark, as it does in a plan', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    const { replay } = testBus;
    await testBus.runtime.advance(3_600_000);
    await testBus.fails('2');
    const where = { olderThan: '10m' } as const;
    const { letters } = await testBus.done(replay.list('orders', { where }));
    expect(letters.map(({ position }) => position.offset)).toEqual([0]);
    expect(await testBus.done(replay.markPermanentlyFailed('orders', { where }, NOTE))).toEqual({
      changed: 1,
      unchanged: 0,
    });
  });
});
