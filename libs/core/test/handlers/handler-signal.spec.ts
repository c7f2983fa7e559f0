import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import {
  DeliveryAbortedException,
  HandlerOverdueException,
} from '../../src/errors/delivery-errors.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let calls: { readonly partition: number; readonly signal: AbortSignal }[];
let gate: Deferred;

/** Returns as soon as its signal is aborted, as a long-running handler should. */
@Injectable()
class HonouringSignal {
  @EventHandler('orders')
  async handle({ partition }: EventRecord, { signal }: EventContext): Promise<void> {
    calls.push({ partition, signal });
    await Promise.race([gate.promise, new Promise((end) => signal.addEventListener('abort', end))]);
    signal.throwIfAborted();
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  calls = [];
  gate = new Deferred();
  await testBus.topic('orders', 2);
  await testBus.topic('orders.DLT');
});

afterEach(() => {
  gate.resolve();
  return testBus.end();
});

const start = (properties: object = {}): Promise<TestingModule> =>
  testBus.startOrders(
    [HonouringSignal],
    { rebalance: { drainTimeoutMs: 3_000 }, retry: { tiers: [] }, ...properties },
    { shutdown: { drainTimeoutMs: 3_000 } },
  );

/** Starts one handler in each partition. */
const startHandlers = async (): Promise<void> => {
  const value = '1';
  await testBus.write('orders', { partition: 0, value }, { partition: 1, value });
  expect(calls).toHaveLength(2);
};
const reasonsOf = (found: typeof calls): unknown[] =>
  found.flatMap(({ signal }) =>
    signal.aborted ? (signal.reason as DeliveryAbortedException).reason : [],
  );

describe('The abort signal of a handler', () => {
  it('is not aborted by a pause, so the handler may finish', async () => {
    const lifecycle = (await start()).get(LifecycleManager);
    await startHandlers();
    await testBus.done(lifecycle.pause('orders'));
    await testBus.runtime.advance(60_000);
    expect(reasonsOf(calls)).toEqual([]);
    gate.resolve();
    await testBus.runtime.advance(1_000);
    expect(await testBus.committed()).toBe(1);
  });

  it('is aborted if the handler still runs when the drain time of a stop is over', async () => {
    const lifecycle = (await start()).get(LifecycleManager);
    await startHandlers();
    const stopping = lifecycle.stop('orders');
    await testBus.runtime.advance(2_900);
    expect(reasonsOf(calls)).toEqual([]);
    await testBus.done(stopping);
    expect(reasonsOf(calls)).toEqual(['drained', 'drained']);
    expect(calls[0]?.signal.reason).toBeInstanceOf(DeliveryAbortedException);
  });

  it('is aborted if its partition is revoked and the drain time is over', async () => {
    await start();
    await startHandlers();
    await start();
    await testBus.runtime.advance(2_000);
    expect(reasonsOf(calls)).toEqual([]);
    await testBus.runtime.advance(30_000);
    expect(reasonsOf(calls)).toEqual(['revoked']);
  });

  it('is aborted at once if its partition is lost', async () => {
    await start({ sessionTimeoutMs: 9_000, heartbeatIntervalMs: 3_000 });
    await startHandlers();
    const fault = testBus.broker.faults.dropHeartbeats({ groupId: 'shop' });
    await testBus.runtime.advance(30_000);
    fault.lift();
    expect(reasonsOf(calls.slice(0, 2))).toEqual(['lost', 'lost']);
  });

  it('is aborted if the handler exceeds maxPollIntervalMs; other handlers of the member have the drain time to finish', async () => {
    const application = await start({
      maxPollIntervalMs: 60_000,
      dlt: { publishTimeoutMs: 10_000 },
    });
    await testBus.write('orders', { partition: 0, value: '1' });
    await testBus.runtime.advance(30_000);
    await testBus.write('orders', { partition: 1, value: '1' });
    const [late, other] = calls as [(typeof calls)[0], (typeof calls)[0]];
    await testBus.runtime.advance(31_000);
    expect([reasonsOf([late]), reasonsOf([other])]).toEqual([['session-ended'], []]);
    const { mainContainer } = application.get(ContainerRegistry).require('orders');
    expect(mainContainer.status).toMatchObject({ error: expect.any(HandlerOverdueException) });
    await testBus.runtime.advance(3_000);
    expect(reasonsOf([other])).toEqual(['session-ended']);
  });

  it('may be thrown: the record does not count as failed and is delivered again', async () => {
    const lifecycle = (await start()).get(LifecycleManager);
    await startHandlers();
    await testBus.done(lifecycle.stop('orders'));
    await testBus.runtime.advance(60_000);
    expect(await testBus.records('orders.DLT')).toEqual([]);
    expect(await testBus.committed()).toBe(0);
    gate.resolve();
    await testBus.done(lifecycle.start('orders'));
    await testBus.runtime.advance(60_000);
    expect(calls).toHaveLength(4);
    expect([await testBus.committed('shop', 0), await testBus.committed('shop', 1)]).toEqual([
      1, 1,
    ]);
  });
});

describe('A handler that stops its own binding', () => {
  it('must not await the stop, which waits for the handler until the drain time is over', async () => {
    @Injectable()
    class SelfStopping {
      constructor(readonly lifecycle: LifecycleManager) {}

      @EventHandler('orders')
      async handle(_: EventRecord, { signal }: EventContext): Promise<void> {
        calls.push({ partition: 0, signal });
        await this.lifecycle.stop('orders');
      }
    }
    await testBus.startOrders([SelfStopping], {}, { shutdown: { drainTimeoutMs: 3_000 } });
    await testBus.write('orders', '1');
    await testBus.runtime.advance(2_500);
    expect(reasonsOf(calls)).toEqual([]);
    await testBus.runtime.advance(5_000);
    expect(reasonsOf(calls)).toEqual(['drained']);
    expect(await testBus.committed()).toBe(0);
  });
});
