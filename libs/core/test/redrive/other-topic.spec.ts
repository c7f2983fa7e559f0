import { errorOf } from '../support/test-bus.spec-support.js';
import type { RedriveTarget } from '../../src/redrive/planning/redrive-plan.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

beforeEach(async () => {
  testBus = await RedriveTestBus.withLetters(['1', '2']);
  testBus.cure();
});

afterEach(() => testBus.end());

const to = { topic: 'quarantine' };
const request = { all: true, to, by: 'ann', reason: 'for the support team' };

describe('A redrive to another topic', () => {
  it('writes new records of nobody, and the ledger says where they are', async () => {
    await testBus.topic('quarantine', 3);
    const { replay } = testBus;
    const report = await testBus.finished(replay.replay('orders', request));
    expect(report).toMatchObject({ state: 'completed', replayed: 2 });
    await testBus.runtime.advance(5_000);
    expect(testBus.handled).toEqual([]);
    expect(await testBus.values('orders')).toEqual(['1', '2']);
    const records = await testBus.records('quarantine');
    expect(records.map(({ value }) => String(value)).toSorted()).toEqual(['1', '2']);
    for (const { headers } of records) {
      const names = headers.map(({ key }) => key);
      expect(names).toEqual(
        expect.arrayContaining(['x-eventbus-original-topic', 'x-eventbus-replay-id']),
      );
      // Nobody skips the record, and nobody takes it for a failed one.
      const failure = /binding-name|group-id|dlt-reason|last-exception|retry-tier|tier\d/;
      expect(names.filter((name) => failure.test(name))).toEqual([]);
    }
    const { letters } = await testBus.done(replay.list('orders'));
    expect(letters).toMatchObject([
      { status: 'replayed', decision: { to: 'quarantine', by: 'ann' } },
      { status: 'replayed', decision: { to: 'quarantine', by: 'ann' } },
    ]);
    const [operation] = await testBus.done(replay.operations('orders'));
    expect(operation?.plan).toMatchObject({
      target: to,
      targetTopic: 'quarantine',
      createdBy: 'ann',
    });
  });

  it.each<[string, RedriveTarget, string]>([
    ['that does not exist', to, 'does not exist'],
    ['that is the topic of the binding', { topic: 'orders' }, "'origin'"],
    ['that is a dead-letter topic', { topic: 'orders.DLT' }, 'only the bus writes'],
    ['that is a ledger', { topic: 'orders.DLT.ledger' }, 'only the bus writes'],
  ])('is refused for a topic %s', async (_what, target, advice) => {
    const planning = testBus.replay.plan('orders', { all: true, to: target });
    expect(await errorOf(testBus.done(planning))).toMatchObject({
      code: 'REDRIVE_REFUSED',
      message: expect.stringContaining(advice),
    });
  });

  it.each([
    ['no topic name', { topic: 'a/b' }],
    ['two targets', { topic: 'quarantine', tier: 1 }],
    ['a number', 7],
    ['null', null],
  ])('is refused for %s', async (_what, target) => {
    const planning = testBus.replay.plan('orders', { all: true, to: target as RedriveTarget });
    expect(await errorOf(testBus.done(planning))).toMatchObject({
      code: 'INVALID_DEAD_LETTER_FILTER',
    });
  });

  it('is refused with options that need to know who reads the topic', async () => {
    await testBus.topic('quarantine');
    const { replay } = testBus;
    for (const options of [{ canary: 1 }, { brakes: { lag: 5 } }]) {
      const run = Promise.resolve(replay.replay('orders', { ...request, ...options }));
      expect(await errorOf(testBus.done(run))).toMatchObject({ code: 'REDRIVE_REFUSED' });
    }
    expect(await testBus.records('quarantine')).toEqual([]);
  });

  it('fails without the right to write there, and every letter stays open', async () => {
    await testBus.topic('quarantine');
    const { replay } = testBus;
    testBus.broker.faults.refuse(
      { operation: 'produce', topic: 'quarantine' },
      'TOPIC_AUTHORIZATION_FAILED',
    );
    const run = Promise.resolve(replay.replay('orders', request));
    expect(await errorOf(testBus.done(run))).toMatchObject({
      code: 'REDRIVE_REFUSED',
      message: expect.stringContaining('Grant Write'),
    });
    const { letters } = await testBus.done(replay.list('orders', { status: 'open' }));
    expect(letters).toHaveLength(2);
  });
});
