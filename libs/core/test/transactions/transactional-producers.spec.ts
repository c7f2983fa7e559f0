import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import { memoryIdempotencyStore } from '../../src/pipeline/idempotency/memory-idempotency-store.js';
import { errorOf } from '../support/test-bus.spec-support.js';
import {
  SHORT_TIMEOUTS,
  TransactionTestBus,
  valuesUpTo,
} from '../support/transaction-test-bus.spec-support.js';

/** Number of retry tiers by default. */
const TIERS = 3;

let testBus: TransactionTestBus;

beforeEach(async () => {
  testBus = await TransactionTestBus.create();
});

afterEach(() => testBus.end());

describe('A binding with several sessions', () => {
  it('has a producer with an id of its own for each session, which would fence each other otherwise', async () => {
    const ids: string[] = [];
    const supporting = memory({ broker: testBus.broker, clientId: 'bus' });
    const driver: BrokerDriver = {
      name: supporting.name,
      capabilities: supporting.capabilities,
      consumer: (options) => supporting.consumer(options),
      admin: () => supporting.admin(),
      close: () => supporting.close(),
      producer: (options) => {
        if (options?.transactionalId) ids.push(options.transactionalId);
        return supporting.producer(options);
      },
    };
    const properties = {
      ...SHORT_TIMEOUTS,
      transactions: { enabled: true },
      concurrency: 2,
      retry: { tiers: [] },
    };
    await testBus.startOrders([testBus.recordHandler()], properties, { driver });
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('A binding that is stopped and started', () => {
  it('closes its producers and uses transactions again', async () => {
    const open = new Set<unknown>();
    const supporting = memory({ broker: testBus.broker, clientId: 'bus' });
    const driver: BrokerDriver = {
      name: supporting.name,
      capabilities: supporting.capabilities,
      consumer: (options) => supporting.consumer(options),
      admin: () => supporting.admin(),
      close: () => supporting.close(),
      producer: (options) => {
        const producer = supporting.producer(options);
        const close = producer.close.bind(producer);
        if (options?.transactionalId) open.add(producer);
        return Object.assign(producer, {
          close: () => {
            open.delete(producer);
            return close();
          },
        });
      },
    };
    const transactions = { enabled: true };
    const application = await testBus.startOrders(
      [testBus.recordHandler()],
      { ...SHORT_TIMEOUTS, transactions },
      { driver },
    );
    const lifecycle = application.get(LifecycleManager);
    for (const value of ['0', '1']) {
      await testBus.write('orders', value);
      await testBus.runtime.advance(500);
      expect(open.size).toBe(1 + TIERS);
      await testBus.done(lifecycle.stop('orders'));
      expect(open.size).toBe(0);
      await testBus.done(lifecycle.start('orders'));
      await testBus.runtime.advance(500);
    }
    expect([await testBus.outputs(), await testBus.committed()]).toEqual([valuesUpTo(2), 2]);
  });
});

describe('An idempotency store beside transactions', () => {
  it('marks a record as handled only after its transaction is committed, so that no aborted record is skipped', async () => {
    testBus.broker.faults.refuse(
      { operation: 'commit-offsets-in-transaction' },
      'CLUSTER_AUTHORIZATION_FAILED',
      { times: 1 },
    );
    const store = memoryIdempotencyStore({ runtime: testBus.runtime });
    const twice = (id: string) => ({ value: id, headers: [{ key: 'id', value: id }] });
    await testBus.write('orders', ...['0', '1', '0', '2', '1'].map(twice));
    await testBus.startProcess({ properties: { idempotency: { store, key: { header: 'id' } } } });
    await testBus.runtime.advance(90_000);
    expect(await testBus.outputs()).toEqual(valuesUpTo(3));
    expect(await testBus.committed()).toBe(5);
  });
});

describe('transactions.idPrefix', () => {
  it("is 'eventbus-' by default: two processes on one host with this prefix fence each other", async () => {
    await testBus.startProcess({ name: 'first' });
    await testBus.startProcess({ name: 'second' });
    await testBus.write('orders', { value: '0', partition: 0 }, { value: '1', partition: 1 });
    await testBus.runtime.advance(60_000);
    expect(testBus.log.warnings.join()).toContain('A transaction was fenced');
    expect((await testBus.outputs()).toSorted()).toEqual(['0', '1']);
  });

  it('separates the transactions of two processes if each has its own prefix', async () => {
    await testBus.startProcess({ name: 'first', idPrefix: 'first-' });
    await testBus.startProcess({ name: 'second', idPrefix: 'second-' });
    await testBus.write('orders', { value: '0', partition: 0 }, { value: '1', partition: 1 });
    await testBus.runtime.advance(60_000);
    expect(testBus.log.warnings.join()).not.toContain('A transaction was fenced');
    expect((await testBus.outputs()).toSorted()).toEqual(['0', '1']);
  });
});

describe('A driver without transactions', () => {
  it('is refused before anything starts', async () => {
    const supporting = memory({ broker: testBus.broker });
    const capabilities = { ...supporting.capabilities, transactions: false };
    const driver = Object.assign(Object.create(supporting) as typeof supporting, { capabilities });
    const error = await errorOf(
      testBus.startOrders(
        [testBus.recordHandler()],
        { transactions: { enabled: true } },
        { driver },
      ),
    );
    expect(error).toBeInstanceOf(ConfigurationValidationException);
    expect(String(error)).toContain("driver 'memory' of cluster 'default' has no transactions");
  });
});
