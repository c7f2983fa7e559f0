import { AuthorizationError, type AdminSession } from '@nest-event-bus/broker';
import type { BindingLag } from '../../src/model/states/lag.js';
import { LagService } from '../../src/observability/lag/lag-service.js';
import { AT_ONCE, RedriveTestBus } from '../redrive/redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

const NOTE = { reason: 'test', by: 'ann' };

afterEach(async () => {
  jest.restoreAllMocks();
  await testBus.end();
});

const start = async (...values: readonly string[]): Promise<void> => {
  testBus = await RedriveTestBus.withLetters(values, AT_ONCE);
  testBus.handle = () => {
    throw new Error('no');
  };
};

async function depth(): Promise<BindingLag['deadLetters']> {
  const service = testBus.application.get(LagService);
  await testBus.done(service.refresh());
  return service.of('orders')?.deadLetters;
}

describe('The depth of a dead-letter topic', () => {
  it('is the number of its open letters, with the age of the oldest', async () => {
    await start('1', '2', '3');
    await testBus.runtime.advance(60_000);
    const found = await depth();
    expect(found).toMatchObject({ topic: 'orders.DLT', records: 3, isExact: true });
    expect(found?.oldestSeconds).toBeGreaterThan(60);
    expect(found?.oldestSeconds).toBeLessThan(70);
  });

  it('is 0 without an age once all letters were replayed', async () => {
    await start('1', '2');
    testBus.cure();
    await testBus.finished(testBus.replay.replay('orders', { all: true, reason: 'test' }));
    expect(await depth()).toMatchObject({ records: 0, oldestSeconds: undefined });
  });

  it('leaves out the letters that a redrive has replayed, and no other ones', async () => {
    await start('1', '2', '3', '4');
    testBus.cure();
    const where = { originalOffset: { in: [0, 1, 3] } };
    await testBus.finished(testBus.replay.replay('orders', { where }));
    expect(await depth()).toMatchObject({ records: 1, isExact: true });
    await testBus.finished(testBus.replay.replay('orders', { all: true }));
    expect(await depth()).toMatchObject({ records: 0, isExact: true });
    const letters = { at: [{ partition: 0, offset: 1 }] };
    await testBus.done(testBus.replay.reopen('orders', letters, NOTE));
    expect(await depth()).toMatchObject({ records: 1, isExact: true });
  });

  it('follows letters that are given up, opened again and purged', async () => {
    await start('1', '2', '3');
    const letters = { at: [{ partition: 0, offset: 1 }] };
    await testBus.done(testBus.replay.markPermanentlyFailed('orders', letters, NOTE));
    expect(await depth()).toMatchObject({ records: 2 });
    await testBus.done(testBus.replay.reopen('orders', letters, NOTE));
    expect(await depth()).toMatchObject({ records: 3 });
    await testBus.runtime.advance(10_000);
    await testBus.done(testBus.replay.purge('orders', { olderThan: '1s', ...NOTE }));
    expect(await depth()).toMatchObject({ records: 0, isExact: true });
  });

  it('leaves out the letters of another group, and the markers of transactions', async () => {
    await start('1');
    const headers = [{ key: 'x-eventbus-group-id', value: 'billing' }];
    const producer = testBus.outside.producer({ transactionalId: 'other' });
    const transaction = await testBus.done(producer.transaction());
    await testBus.done(
      transaction.send([{ topic: 'orders.DLT', partition: 0, value: '7', headers }]),
    );
    await testBus.done(transaction.commit());
    expect(await depth()).toMatchObject({ records: 1, isExact: true });
  });

  it('is an upper bound until a large topic was read, a part with each poll', async () => {
    await start('1');
    const records = Array.from({ length: 2_500 }, (_, index) => String(index));
    await testBus.write('orders.DLT', ...records);
    expect(await depth()).toMatchObject({ records: 2_501, isExact: false });
    await depth();
    expect(await depth()).toMatchObject({ records: 2_501, isExact: true });
  });

  it('begins again if the topic is deleted and created again', async () => {
    await start('1', '2', '3');
    expect(await depth()).toMatchObject({ records: 3 });
    await testBus.done(testBus.outside.admin().deleteTopics(['orders.DLT']));
    expect(await depth()).toBeUndefined();
    await testBus.topic('orders.DLT');
    await testBus.fails('4');
    expect(await depth()).toMatchObject({ records: 1 });
  });

  it('is an upper bound without an age if the letters may not be read', async () => {
    await start('1', '2');
    const refusal = new AuthorizationError('READ on orders.DLT is missing');
    testBus.broker.faults.refuse({ operation: 'fetch', topic: 'orders.DLT' }, refusal);
    expect(await depth()).toEqual({
      topic: 'orders.DLT',
      records: 2,
      oldestSeconds: undefined,
      isExact: false,
    });
  });

  it('is an upper bound if a newer version has written the ledger, and alerts go on', async () => {
    await start('1', '2');
    await testBus.done(testBus.replay.plan('orders', { all: true }));
    const entry = { topic: 'orders.DLT.ledger', partition: 0, key: 'plan/x' };
    await testBus.write(entry.topic, { ...entry, value: JSON.stringify({ version: 99 }) });
    await depth();
    expect(await depth()).toMatchObject({ records: 2, isExact: false });
    expect(testBus.application.get(LagService).of('orders')?.error).toBeUndefined();
    const warnings = testBus.log.warnings.filter((line) => line.includes('cannot be counted'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('Upgrade this application');
  });

  it.each([
    ['an upper bound', 'orders.DLT.ledger', { records: 2, isExact: false }],
    ['unknown', 'orders.DLT', undefined],
  ])('is %s if %s may not be described, and the lag is known', async (_, topic, expected) => {
    await start('1', '2');
    await testBus.done(testBus.replay.plan('orders', { all: true }));
    const refusal = new AuthorizationError(`DESCRIBE on ${topic} is missing`);
    const admin = Object.getPrototypeOf(testBus.outside.admin()) as AdminSession;
    const describe = admin.topics;
    jest.spyOn(admin, 'topics').mockImplementation(function (this: AdminSession, names) {
      return names?.includes(topic) ? Promise.reject(refusal) : describe.call(this, names);
    });
    const found = await depth();
    if (expected) expect(found).toMatchObject(expected);
    else expect(found).toBeUndefined();
    expect(testBus.application.get(LagService).of('orders')).toMatchObject({
      ...{ error: undefined, records: 0, status: 'OK' },
    });
  });
});
