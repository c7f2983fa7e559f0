import type { BrokerDriver } from '@nest-event-bus/broker';
import { memory } from '@nest-event-bus/broker/memory';
import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { World } from '../support/application.spec-support.js';

/** Longer than records share a transaction: the next one has a transaction of its own. */
const STRETCH_MS = 200;
const DRAIN_MS = 2_000;

let world: World;
let gate: Deferred;
/** Calls of the handler, and what intake commits beside it. */
let course: string[];

@Injectable()
class Orders {
  @EventHandler('orders')
  async handle({ value }: EventRecord, { transaction }: EventContext): Promise<void> {
    const name = String(value);
    course.push(`called with ${name}`);
    // It sends nothing: intake commits it, with its slice.
    if (name === '0') return sleep(world.runtime, STRETCH_MS);
    await gate.promise;
    transaction.send({ topic: 'out', value: name });
  }
}

beforeEach(async () => {
  world = new World();
  gate = new Deferred();
  course = [];
  await world.topic('orders');
  await world.topic('out');
});

afterEach(() => world.end());

const start = (name: string): Promise<INestApplicationContext> =>
  world.startOrders(
    [Orders],
    {
      // Nobody takes over what another one has begun.
      transactions: { enabled: true, idPrefix: `${name}-` },
      ackMode: 'MANUAL',
      assignmentStrategy: 'range',
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 1_000,
      rebalance: { drainTimeoutMs: DRAIN_MS },
    },
    {
      driver: telling(memory({ broker: world.broker, clientId: name, requestTimeoutMs: 20_000 })),
      shutdown: { drainTimeoutMs: DRAIN_MS },
    },
  );

/** The first record is done, and the second at work in the same slice. */
const withTheSecondAtWork = async (): Promise<INestApplicationContext> => {
  await world.write('orders', '0', '1');
  const application = await start('first');
  await world.runtime.advance(1_000);
  expect(course).toEqual(['called with 0', 'called with 1']);
  return application;
};

/** Whoever has the partition then. */
const expectOnceOnly = async (): Promise<void> => {
  await start('last');
  await world.runtime.advance(10_000);
  expect((await world.records('out')).map(({ value }) => String(value))).toEqual(['1']);
  expect(await world.committed()).toBe(2);
};

/** The same with another method in the place of one of its own. */
function withOther<T extends object, K extends keyof T>(given: T, name: K, other: T[K]): T {
  return new Proxy(given, {
    get: (target, key) => {
      if (key === name) return other;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The driver, whose sessions write down what they commit. */
function telling(driver: BrokerDriver): BrokerDriver {
  return withOther(driver, 'consumer', (options) => {
    const session = driver.consumer(options);
    return withOther(session, 'commit', async (offsets) => {
      const told = offsets.map(({ offset }) => offset).join();
      course.push(`committing ${told}`);
      await session.commit(offsets);
      course.push(`committed ${told}`);
    });
  });
}

describe('what a transaction commits is not taken back', () => {
  const quietly = ['called with 0', 'called with 1'];

  it.each(['a pause', 'a shutdown'])('by the commit of %s: it waits for the end', async (what) => {
    const application = await withTheSecondAtWork();
    world.broker.faults.delayRequests({ operation: 'commit' }, 500, { times: 1 });
    const lifecycle = application.get(LifecycleManager);
    const done = what === 'a pause' ? lifecycle.pause('orders') : application.close();
    await world.runtime.advance(50);
    gate.resolve();
    await world.done<unknown>(done);
    await world.runtime.advance(1_000);
    expect(await world.committed()).toBe(2);
    expect(course).toEqual(quietly);
    await world.done(application.close());
    await expectOnceOnly();
  });

  it('by what a rebalance commits when the drain time is over, between its steps', async () => {
    await withTheSecondAtWork();
    const starting = start('other');
    await world.runtime.advance(DRAIN_MS - 200);
    world.broker.faults.delayRequests({ operation: 'end-transaction' }, 1_000, { times: 1 });
    gate.resolve();
    await world.runtime.advance(2 * DRAIN_MS);
    await world.done(starting);
    expect(course).toEqual(quietly);
    await expectOnceOnly();
  });

  it('by a commit of what is no record: the next record waits for it', async () => {
    gate.resolve();
    const application = await start('first');
    world.broker.faults.delayRequests({ operation: 'commit' }, 5_000, { times: 1 });
    const producer = world.outside.producer({ transactionalId: 'writer' });
    const written = await world.done(producer.transaction());
    await world.done(written.send([{ topic: 'orders', partition: 0, value: '1' }]));
    // Its end takes an offset of its own.
    await world.done(written.commit());
    await world.runtime.advance(1_000);
    await world.write('orders', '2');
    await world.runtime.advance(10_000);
    expect(course).toEqual(['called with 1', 'committing 2', 'committed 2', 'called with 2']);
    expect(await world.committed()).toBe(3);
    await world.done(application.close());
  });
});
