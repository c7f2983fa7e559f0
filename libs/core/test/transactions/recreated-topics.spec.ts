import { Deferred } from '@nest-event-bus/broker/runtime';
import { TransactionTestBus } from '../support/transaction-test-bus.spec-support.js';

let testBus: TransactionTestBus;

beforeEach(async () => {
  testBus = await TransactionTestBus.create();
});

afterEach(() => testBus.end());

describe('A transaction for a record of a deleted topic', () => {
  it('writes its outputs, and commits no offset to the new topic of the same name', async () => {
    const handled = new Deferred();
    testBus.act = () => handled.promise;
    await testBus.startProcess({ properties: { maxPollIntervalMs: 600_000 } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    await testBus.done(testBus.outside.admin().deleteTopics(['orders']));
    await testBus.topic('orders', 2);
    await testBus.runtime.advance(60_000);
    handled.resolve();
    await testBus.runtime.advance(5_000);
    expect(testBus.called).toEqual(['1']);
    expect(await testBus.outputs()).toEqual(['1']);
    expect((await testBus.committed()) ?? 0).toBe(0);
  });
});
