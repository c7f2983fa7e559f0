import { memory } from '@nest-event-bus/broker/memory';
import { memoryIdempotencyStore } from '../../src/pipeline/idempotency/memory-idempotency-store.js';
import { DyingProcess } from './dying-driver.spec-support.js';
import { otherProcess } from './other-process.spec-support.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const VALUES = Array.from({ length: 40 }, (_, index) => String(index + 1));
const NOTE = { by: 'ann', reason: 'test data' };

/** A process whose cluster refuses transactions. */
const process = (clientId: string, dying = new DyingProcess(Infinity)) =>
  otherProcess(testBus, () =>
    dying.driver(memory({ broker: testBus.broker, clientId, transactions: false })),
  );

const replayIds = async (): Promise<readonly string[]> =>
  (await testBus.records('orders')).flatMap(({ headers }) =>
    headers.filter(({ key }) => key === 'x-eventbus-replay-id').map(({ value }) => String(value)),
  );

describe('A redrive in a cluster without transactions', () => {
  it('says in plan, report and log that it replays at least once', async () => {
    testBus = await RedriveTestBus.withLetters(VALUES);
    testBus.cure();
    const warnings: string[] = [];
    const replay = otherProcess(
      testBus,
      () => memory({ broker: testBus.broker, transactions: false }),
      'poor',
      (message) => warnings.push(message),
    );
    const plan = await testBus.done(replay.plan('orders', { all: true }));
    expect(plan.delivery).toBe('at-least-once');
    const report = await testBus.done(Promise.resolve(replay.run('orders', plan.id)));
    expect(report).toMatchObject({ state: 'completed', delivery: 'at-least-once', replayed: 40 });
    expect(warnings.join()).toContain('may be replayed twice');
    expect(await testBus.done(testBus.replay.status('orders', plan.id))).toMatchObject({
      delivery: 'at-least-once',
    });
    // Without a failure, nothing is replayed twice.
    expect(new Set(await replayIds()).size).toBe(40);
    expect(await replayIds()).toHaveLength(40);
  });

  it('replays again with the same ids after a crash, and a store handles each once', async () => {
    testBus = await RedriveTestBus.withLetters(VALUES, {
      ...AT_ONCE,
      idempotency: { store: memoryIdempotencyStore() },
    });
    testBus.cure();
    let repeated = 0;
    const { id } = await testBus.done(process('planner').plan('orders', { all: true }));
    for (let deadlyCall = 2; deadlyCall <= 10; deadlyCall++) {
      const dying = new DyingProcess(deadlyCall);
      const run = Promise.resolve(process('dying', dying).run('orders', id, { rate: 100 }));
      await testBus.done(run.catch(() => undefined));
    }
    const last = await testBus.done(Promise.resolve(process('last').run('orders', id)));
    expect(last).toMatchObject({ state: 'completed', replayed: 40, remaining: 0 });
    const ids = await replayIds();
    repeated = ids.length - new Set(ids).size;
    expect(new Set(ids).size).toBe(40);
    // The crashes prove nothing unless one of them was between the records and their entries.
    expect(repeated).toBeGreaterThan(0);
    await testBus.runtime.advance(10_000);
    expect([...testBus.handled].toSorted((a, b) => Number(a) - Number(b))).toEqual(
      VALUES.map(Number),
    );
  });

  it('replays the others once if a letter is too large for the topic', async () => {
    const large = JSON.stringify('x'.repeat(5_000));
    testBus = await RedriveTestBus.withLetters(['1', large, '3']);
    testBus.cure();
    const limit = { 'max.message.bytes': '3000' };
    await testBus.done(testBus.outside.admin().alterTopicConfig('orders', limit));
    const replay = process('planner');
    const { id } = await testBus.done(replay.plan('orders', { all: true }));
    expect(await testBus.done(Promise.resolve(replay.run('orders', id)))).toMatchObject({
      ...{ state: 'completed', replayed: 2, failed: 1, remaining: 0 },
    });
    expect((await testBus.values('orders')).slice(3)).toEqual(['1', '3']);
    const open = await testBus.done(replay.list('orders', { status: 'open' }));
    expect(open.letters.map(({ position }) => position.offset)).toEqual([1]);
  });

  it('runs on two nodes, of which the later one takes a partition over', async () => {
    testBus = await RedriveTestBus.withLetters(VALUES);
    testBus.cure();
    const { id } = await testBus.done(process('planner').plan('orders', { all: true }));
    const first = Promise.resolve(process('first').run('orders', id, { rate: 20 }));
    await testBus.runtime.advance(500);
    const second = Promise.resolve(process('second').run('orders', id, { rate: 20 }));
    for (const run of [first, second])
      expect(await testBus.done(run)).toMatchObject({ state: 'completed', replayed: 40 });
    const ids = await replayIds();
    expect(new Set(ids).size).toBe(40);
    // At most the batch that was under way when the second node began.
    expect(ids.length).toBeLessThanOrEqual(42);
  });

  it('marks, edits and purges letters as well', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
    testBus.cure();
    const warnings: string[] = [];
    const replay = otherProcess(
      testBus,
      () => memory({ broker: testBus.broker, transactions: false }),
      'operator',
      (message) => warnings.push(message),
    );
    const first = { at: [{ partition: 0, offset: 0 }] };
    expect(await testBus.done(replay.markPermanentlyFailed('orders', first, NOTE))).toMatchObject({
      changed: 1,
    });
    const position = { partition: 0, offset: 1 };
    const edit = replay.editAndReplay('orders', position, { value: '20' }, NOTE);
    expect(await testBus.done(edit)).toMatchObject({ delivery: 'at-least-once' });
    expect(warnings.join()).toContain('may be written twice');
    expect(await testBus.values('orders')).toEqual(['1', '2', '3', '20']);
    await testBus.runtime.advance(1_000);
    expect(await testBus.done(replay.purge('orders', { olderThan: '1ms' }))).toMatchObject({
      deleted: 3,
    });
  });
});

describe('A redrive whose plan promises exactly once', () => {
  it('is refused on a node that has no right to transactions, and replays nothing', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2']);
    const { id, delivery } = await testBus.done(testBus.replay.plan('orders', { all: true }));
    expect(delivery).toBe('exactly-once');
    const run = Promise.resolve(process('poor').run('orders', id));
    await expect(testBus.done(run)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    expect(await testBus.values('orders')).toEqual(['1', '2']);
  });
});
