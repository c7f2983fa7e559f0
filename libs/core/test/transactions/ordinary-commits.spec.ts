import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

/** Longer than records may share a transaction, so the next record gets its own transaction. */
const SHARED_TRANSACTION_MS = 200;
const DRAIN_MS = 2_000;

let testBus: TestBus;
let gate: Deferred;
/** Calls of the handler and ordinary offset commits, in order. */
let events: string[];

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ value }: EventRecord, { transaction }: EventContext): Promise<void> {
    const name = String(value);
    events.push(`called with ${name}`);
    // Sends nothing, so its offset is committed by an ordinary commit.
    if (name === '0') return sleep(testBus.runtime, SHARED_TRANSACTION_MS);
    await gate.promise;
    transaction.send({ topic: 'out', value: name });
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  gate = new Deferred();
  events = [];
  await testBus.topic('orders');
  await testBus.topic('out');
});

afterEach(() => testBus.end());

const start = (name: string): Promise<INestApplicationContext> =>
  testBus.startOrders(
    [Orders],
    {
      // A prefix per application, so that no application aborts a transaction of another one.
      transactions: { enabled: true, idPrefix: `${name}-` },
      ackMode: 'MANUAL',
      assignmentStrategy: 'range',
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 1_000,
      rebalance: { drainTimeoutMs: DRAIN_MS },
    },
    {
      driver: logCommits(
        memory({ broker: testBus.broker, clientId: name, requestTimeoutMs: 20_000 }),
      ),
      shutdown: { drainTimeoutMs: DRAIN_MS },
    },
  );

/** Returns when the first record is done and the handler of the second record runs, in the same slice. */
const startWithSecondRunning = async (): Promise<INestApplicationContext> => {
  await testBus.write('orders', '0', '1');
  const application = await start('first');
  await testBus.runtime.advance(1_000);
  expect(events).toEqual(['called with 0', 'called with 1']);
  return application;
};

/** Expects one output and the offset behind both records, whichever member owns the partition. */
const expectHandledOnce = async (): Promise<void> => {
  await start('last');
  await testBus.runtime.advance(10_000);
  expect((await testBus.records('out')).map(({ value }) => String(value))).toEqual(['1']);
  expect(await testBus.committed()).toBe(2);
};

/** Returns the object with one method replaced. */
function withMethod<T extends object, K extends keyof T>(given: T, name: K, other: T[K]): T {
  return new Proxy(given, {
    get: (target, key) => {
      if (key === name) return other;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Returns the driver with sessions that log their commits. */
function logCommits(driver: BrokerDriver): BrokerDriver {
  return withMethod(driver, 'consumer', (options) => {
    const session = driver.consumer(options);
    return withMethod(session, 'commit', async (offsets) => {
      const text = offsets.map(({ offset }) => offset).join();
      events.push(`committing ${text}`);
      await session.commit(offsets);
      events.push(`committed ${text}`);
    });
  });
}

describe('The offset that a transaction commits', () => {
  const noOrdinaryCommit = ['called with 0', 'called with 1'];

  it.each(['a pause', 'a shutdown'])(
    'is not moved back by the commit of %s, which waits for the end of the transaction',
    async (what) => {
      const application = await startWithSecondRunning();
      testBus.broker.faults.delayRequests({ operation: 'commit' }, 500, { times: 1 });
      const lifecycle = application.get(LifecycleManager);
      const done = what === 'a pause' ? lifecycle.pause('orders') : application.close();
      await testBus.runtime.advance(50);
      gate.resolve();
      await testBus.done<unknown>(done);
      await testBus.runtime.advance(1_000);
      expect(await testBus.committed()).toBe(2);
      expect(events).toEqual(noOrdinaryCommit);
      await testBus.done(application.close());
      await expectHandledOnce();
    },
  );

  it('is not moved back by a commit of a rebalance whose drain time is over', async () => {
    await startWithSecondRunning();
    const starting = start('other');
    await testBus.runtime.advance(DRAIN_MS - 200);
    testBus.broker.faults.delayRequests({ operation: 'end-transaction' }, 1_000, { times: 1 });
    gate.resolve();
    await testBus.runtime.advance(2 * DRAIN_MS);
    await testBus.done(starting);
    expect(events).toEqual(noOrdinaryCommit);
    await expectHandledOnce();
  });

  it('is not moved back by a commit for a commit marker: the next record waits for that commit', async () => {
    gate.resolve();
    const application = await start('first');
    testBus.broker.faults.delayRequests({ operation: 'commit' }, 5_000, { times: 1 });
    const producer = testBus.outside.producer({ transactionalId: 'writer' });
    const written = await testBus.done(producer.transaction());
    await testBus.done(written.send([{ topic: 'orders', partition: 0, value: '1' }]));
    // The commit marker takes an offset of its own.
    await testBus.done(written.commit());
    await testBus.runtime.advance(1_000);
    await testBus.write('orders', '2');
    await testBus.runtime.advance(10_000);
    expect(events).toEqual(['called with 1', 'committing 2', 'committed 2', 'called with 2']);
    expect(await testBus.committed()).toBe(3);
    await testBus.done(application.close());
  });
});
