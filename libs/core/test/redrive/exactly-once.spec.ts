import type { BrokerDriver } from '@nest-event-bus/broker';
import { DyingProcess } from './dying-driver.spec-support.js';
import { otherProcess } from './other-process.spec-support.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const LETTERS = ['1', '2', '3', '4', '5', '6', '7'];

/** A rate at which a batch has two letters. */
const SMALL_BATCHES = { rate: 20 };

/** Calls `act` before the first records that are sent without a transaction. */
function beforeFirstSend(driver: BrokerDriver, act: () => Promise<unknown>): BrokerDriver {
  let acting: Promise<unknown> | undefined;
  return {
    name: driver.name,
    capabilities: driver.capabilities,
    consumer: (options) => driver.consumer(options),
    producer: (options) => {
      const producer = driver.producer(options);
      return {
        send: async (records, sending) => {
          await (acting ??= act());
          return producer.send(records, sending);
        },
        transaction: () => producer.transaction(),
        close: () => producer.close(),
      };
    },
    admin: () => driver.admin(),
    close: () => driver.close(),
  };
}

/** Values that a read_committed reader finds after the records that had failed. */
async function replayedValues(): Promise<readonly (string | null)[]> {
  return (await testBus.values('orders')).slice(LETTERS.length);
}

describe('A redrive', () => {
  beforeEach(async () => {
    testBus = await RedriveTestBus.withLetters(LETTERS);
    testBus.cure();
  });

  it('replays each letter once, wherever its process dies', async () => {
    const deaths: string[] = [];
    for (let deadlyCall = 1; ; deadlyCall++) {
      const dying = new DyingProcess(deadlyCall);
      const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
      const first = otherProcess(testBus, (driver) => dying.driver(driver));
      await testBus.done(
        Promise.resolve(first.run('orders', id, SMALL_BATCHES)).catch(() => undefined),
      );
      if (!dying.isDead) break;
      deaths.push(dying.diedAt!);
      const report = await testBus.finished(testBus.replay.run('orders', id));
      expect([dying.diedAt, await replayedValues()]).toEqual([dying.diedAt, LETTERS]);
      expect(report).toMatchObject({ state: 'completed', replayed: 7, failed: 0, skipped: {} });
      const { letters } = await testBus.done(testBus.replay.list('orders'));
      expect(letters.map(({ status }) => status)).toEqual(LETTERS.map(() => 'replayed'));
      await testBus.end();
      testBus = await RedriveTestBus.withLetters(LETTERS);
      testBus.cure();
    }
    // Each batch has a begin, a send and a commit, and so has the claim.
    expect(deaths.filter((death) => death === 'after commit').length).toBeGreaterThanOrEqual(4);
  });

  it('replays each letter once if several nodes run it', async () => {
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const nodes = [testBus.replay, otherProcess(testBus), otherProcess(testBus)];
    const runs = nodes.map((node) => Promise.resolve(node.run('orders', id, { rate: 10 })));
    const reports = await testBus.done(Promise.all(runs));
    expect(await replayedValues()).toEqual(LETTERS);
    for (const report of reports)
      expect(report).toMatchObject({ state: 'completed', replayed: 7, remaining: 0 });
  });

  it('replays each letter once if two operations meet', async () => {
    const one = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const two = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const runs = [
      Promise.resolve(testBus.replay.run('orders', one.id, { rate: 10 })),
      Promise.resolve(otherProcess(testBus).run('orders', two.id, { rate: 10 })),
    ];
    const [first, second] = await testBus.done(Promise.all(runs));
    expect(new Set(await replayedValues())).toEqual(new Set(LETTERS));
    expect(await replayedValues()).toHaveLength(LETTERS.length);
    expect(first!.replayed + second!.replayed).toBe(7);
    for (const report of [first!, second!]) {
      expect(report).toMatchObject({ state: 'completed', selected: 7, remaining: 0 });
      expect(report.replayed + (report.skipped['already-replayed'] ?? 0)).toBe(7);
    }
  });

  it('is resumed by another process after it was stopped', async () => {
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const run = testBus.replay.run('orders', id, SMALL_BATCHES);
    for await (const { replayed } of run) if (replayed >= 2) break;
    run.stop();
    const stopped = await testBus.finished(run);
    expect(stopped.state).toBe('stopped');
    expect(stopped.replayed + stopped.remaining).toBe(7);
    expect(stopped.remaining).toBeGreaterThan(0);
    const report = await testBus.finished(otherProcess(testBus).run('orders', id));
    expect(report).toMatchObject({ state: 'completed', replayed: 7 });
    expect(await replayedValues()).toEqual(LETTERS);
  });

  it('is cancelled from another node, and cannot be resumed', async () => {
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const run = testBus.replay.run('orders', id, { rate: 1 });
    await testBus.runtime.advance(2_500);
    await testBus.done(otherProcess(testBus).cancel('orders', id));
    const report = await testBus.finished(run);
    expect(report.state).toBe('cancelled');
    expect(report.replayed).toBe((await replayedValues()).length);
    expect(report.remaining).toBe(7 - report.replayed);
    expect(report.remaining).toBeGreaterThan(0);
    await expect(testBus.finished(testBus.replay.run('orders', id))).rejects.toMatchObject({
      code: 'REDRIVE_REFUSED',
    });
    // What is left is still open for another plan.
    const left = await testBus.done(testBus.replay.plan('orders', { all: true }));
    expect(left.selected).toBe(report.remaining);
  });

  it('stays cancelled if another node begins to run it at the same moment', async () => {
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const running = Promise.resolve(testBus.replay.run('orders', id, { rate: 1 }));
    await testBus.runtime.advance(500);
    // The other node has read that nobody cancels, and writes its command after the cancel.
    const late = otherProcess(testBus, (driver) =>
      beforeFirstSend(driver, () => testBus.replay.cancel('orders', id)),
    );
    const reports = await testBus.done(Promise.all([running, late.run('orders', id)]));
    expect(reports).toMatchObject([{ state: 'cancelled' }, { state: 'cancelled' }]);
    const replayed = (await replayedValues()).length;
    expect(replayed).toBeLessThan(LETTERS.length);
    expect(await testBus.done(testBus.replay.status('orders', id))).toMatchObject({
      state: 'cancelled',
      remaining: LETTERS.length - replayed,
    });
    await expect(testBus.finished(late.run('orders', id))).rejects.toMatchObject({
      code: 'REDRIVE_REFUSED',
    });
    // Compaction keeps the last entry of each key, so the cancel needs a key of its own.
    const entries = await testBus.records('orders.DLT.ledger');
    const last = new Map(entries.map(({ key, value }) => [String(key), String(value)]));
    expect([...last.values()].join()).toContain('"command":"cancel"');
  });

  it('replays no more letters per second than its rate allows', async () => {
    const before = testBus.runtime.now();
    await testBus.finished(testBus.replay.replay('orders', { all: true, rate: 1 }));
    // The first letter does not wait.
    expect(testBus.runtime.now() - before).toBeGreaterThanOrEqual(6_000);
    expect(testBus.runtime.now() - before).toBeLessThan(7_000);
  });

  it('leaves letters open that are too large for the topic, and replays the others', async () => {
    await testBus.end();
    testBus = new RedriveTestBus();
    for (const topic of ['orders', 'orders.DLT']) await testBus.topic(topic);
    testBus.application = await testBus.startHandler(AT_ONCE);
    const large = JSON.stringify('x'.repeat(5_000));
    await testBus.fails('1', large, '3');
    testBus.cure();
    const admin = testBus.outside.admin();
    await testBus.done(admin.alterTopicConfig('orders', { 'max.message.bytes': '3000' }));
    const report = await testBus.finished(testBus.replay.replay('orders', { all: true }));
    expect(report).toMatchObject({ state: 'completed', replayed: 2, failed: 1, remaining: 0 });
    expect((await testBus.values('orders')).slice(3)).toEqual(['1', '3']);
    const open = await testBus.done(testBus.replay.list('orders', { status: 'open' }));
    expect(open.letters.map(({ position }) => position.offset)).toEqual([1]);
  });

  it('counts letters that were deleted since the plan was made', async () => {
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    const admin = testBus.outside.admin();
    await testBus.done(admin.deleteRecords('orders.DLT', [{ partition: 0, offset: 3 }]));
    const report = await testBus.finished(testBus.replay.run('orders', id));
    expect(report).toMatchObject({ replayed: 4, skipped: { deleted: 3 }, remaining: 0 });
  });

  it('is refused after its dead-letter topic was created again', async () => {
    const { id } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    await testBus.done(testBus.outside.admin().deleteTopics(['orders.DLT']));
    await testBus.topic('orders.DLT');
    await expect(testBus.finished(testBus.replay.run('orders', id))).rejects.toMatchObject({
      code: 'REDRIVE_REFUSED',
    });
  });
});
