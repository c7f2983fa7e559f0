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
import { World } from '../support/application.spec-support.js';

let world: World;
let calls: { readonly partition: number; readonly signal: AbortSignal }[];
let gate: Deferred;

/** It heeds its signal, as a handler should that works for long. */
@Injectable()
class Heedful {
  @EventHandler('orders')
  async handle({ partition }: EventRecord, { signal }: EventContext): Promise<void> {
    calls.push({ partition, signal });
    await Promise.race([gate.promise, new Promise((end) => signal.addEventListener('abort', end))]);
    signal.throwIfAborted();
  }
}

beforeEach(async () => {
  world = new World();
  calls = [];
  gate = new Deferred();
  await world.topic('orders', 2);
  await world.topic('orders.DLT');
});

afterEach(() => {
  gate.resolve();
  return world.end();
});

const start = (properties: object = {}): Promise<TestingModule> =>
  world.startOrders(
    [Heedful],
    { rebalance: { drainTimeoutMs: 3_000 }, retry: { tiers: [] }, ...properties },
    { shutdown: { drainTimeoutMs: 3_000 } },
  );

/** Each partition has a handler at work. */
const atWork = async (): Promise<void> => {
  const value = '1';
  await world.write('orders', { partition: 0, value }, { partition: 1, value });
  expect(calls).toHaveLength(2);
};
const reasonsOf = (found: typeof calls): unknown[] =>
  found.flatMap(({ signal }) =>
    signal.aborted ? (signal.reason as DeliveryAbortedException).reason : [],
  );

describe('The signal of a handler', () => {
  it('does not abort at a pause: the handler may finish', async () => {
    const lifecycle = (await start()).get(LifecycleManager);
    await atWork();
    await world.done(lifecycle.pause('orders'));
    await world.runtime.advance(60_000);
    expect(reasonsOf(calls)).toEqual([]);
    gate.resolve();
    await world.runtime.advance(1_000);
    expect(await world.committed()).toBe(1);
  });

  it('aborts where it has not ended by the time that a stop leaves it', async () => {
    const lifecycle = (await start()).get(LifecycleManager);
    await atWork();
    const stopping = lifecycle.stop('orders');
    await world.runtime.advance(2_900);
    expect(reasonsOf(calls)).toEqual([]);
    await world.done(stopping);
    expect(reasonsOf(calls)).toEqual(['drained', 'drained']);
    expect(calls[0]?.signal.reason).toBeInstanceOf(DeliveryAbortedException);
  });

  it('aborts where its partition goes to another member, after the time for that', async () => {
    await start();
    await atWork();
    await start();
    await world.runtime.advance(2_000);
    expect(reasonsOf(calls)).toEqual([]);
    await world.runtime.advance(30_000);
    expect(reasonsOf(calls)).toEqual(['revoked']);
  });

  it('aborts at once where its partition is lost', async () => {
    await start({ sessionTimeoutMs: 9_000, heartbeatIntervalMs: 3_000 });
    await atWork();
    const fault = world.broker.faults.dropHeartbeats({ groupId: 'shop' });
    await world.runtime.advance(30_000);
    fault.lift();
    expect(reasonsOf(calls.slice(0, 2))).toEqual(['lost', 'lost']);
  });

  it('aborts where it runs for longer than maxPollIntervalMs, and for others after the time for that', async () => {
    const application = await start({
      maxPollIntervalMs: 60_000,
      dlt: { publishTimeoutMs: 10_000 },
    });
    await world.write('orders', { partition: 0, value: '1' });
    await world.runtime.advance(30_000);
    await world.write('orders', { partition: 1, value: '1' });
    const [late, other] = calls as [(typeof calls)[0], (typeof calls)[0]];
    await world.runtime.advance(31_000);
    expect([reasonsOf([late]), reasonsOf([other])]).toEqual([['session-ended'], []]);
    const { mainContainer } = application.get(ContainerRegistry).require('orders');
    expect(mainContainer.status).toMatchObject({ error: expect.any(HandlerOverdueException) });
    await world.runtime.advance(3_000);
    expect(reasonsOf([other])).toEqual(['session-ended']);
  });

  it('may be thrown: its record is no failure, and is delivered again', async () => {
    const lifecycle = (await start()).get(LifecycleManager);
    await atWork();
    await world.done(lifecycle.stop('orders'));
    await world.runtime.advance(60_000);
    expect(await world.records('orders.DLT')).toEqual([]);
    expect(await world.committed()).toBe(0);
    gate.resolve();
    await world.done(lifecycle.start('orders'));
    await world.runtime.advance(60_000);
    expect(calls).toHaveLength(4);
    expect([await world.committed('shop', 0), await world.committed('shop', 1)]).toEqual([1, 1]);
  });
});

describe('A handler that stops its own binding', () => {
  it('must not wait for that: it would be waited for, as long as a drain may take', async () => {
    @Injectable()
    class SelfStopping {
      constructor(readonly lifecycle: LifecycleManager) {}

      @EventHandler('orders')
      async handle(_: EventRecord, { signal }: EventContext): Promise<void> {
        calls.push({ partition: 0, signal });
        await this.lifecycle.stop('orders');
      }
    }
    await world.startOrders([SelfStopping], {}, { shutdown: { drainTimeoutMs: 3_000 } });
    await world.write('orders', '1');
    await world.runtime.advance(2_500);
    expect(reasonsOf(calls)).toEqual([]);
    await world.runtime.advance(5_000);
    expect(reasonsOf(calls)).toEqual(['drained']);
    expect(await world.committed()).toBe(0);
  });
});
