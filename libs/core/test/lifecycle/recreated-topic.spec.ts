import { memory } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let handled: unknown[];

@Injectable()
class Orders {
  @EventHandler('orders')
  handle({ value }: EventRecord): void {
    handled.push(value);
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  handled = [];
  await testBus.topic('orders', 2);
  await testBus.failureTopics();
});

afterEach(() => testBus.end());

type Properties = Parameters<TestBus['startOrders']>[1];

/** Starts an application whose metadata are refreshed often, as its brokers change. */
function start(properties: Properties): Promise<TestingModule> {
  const driver = memory({ broker: testBus.broker, clientId: 'bus', metadataMaxAgeMs: 5_000 });
  return testBus.startOrders([Orders], properties, { driver });
}

/** Deletes the topic and creates it again after the time. Writes 'early' to it at once. */
async function recreate(afterMs: number): Promise<void> {
  await testBus.done(testBus.outside.admin().deleteTopics(['orders']));
  await testBus.runtime.advance(afterMs);
  await testBus.topic('orders', 2);
  await testBus.write('orders', '"early"');
}

function reasonsOf(application: TestingModule): string {
  return testBus
    .health(application)
    .bindings.flatMap(({ reasons }) => reasons)
    .join();
}

describe.each(['classic', 'consumer'] as const)('onTopicRecreated (%s)', (groupProtocol) => {
  describe.each([
    ['at once', 0],
    ['after 90 seconds', 90_000],
  ])('for a topic that is created again %s', (_, afterMs) => {
    it.each([undefined, 'stop'] as const)(
      '%s stops its partitions until the binding is stopped and started',
      async (onTopicRecreated) => {
        const application = await start({ groupProtocol, onTopicRecreated });
        await testBus.write('orders', '"old"');
        await testBus.runtime.advance(1_000);
        await recreate(afterMs);
        await testBus.runtime.advance(60_000);
        await testBus.write('orders', '"later"');
        await testBus.runtime.advance(60_000);
        expect(handled).toEqual(['old']);
        expect(testBus.health(application).status).toBe('DEGRADED');
        expect(reasonsOf(application)).toContain('stop and start the binding');
        const connector = application.get(EventBusConnector);
        await testBus.done(connector.pause('orders'));
        await testBus.done(connector.resume('orders'));
        await testBus.runtime.advance(60_000);
        expect(handled).toEqual(['old']);
        await testBus.done(connector.stop('orders'));
        await testBus.done(connector.start('orders'));
        await testBus.runtime.advance(60_000);
        expect(handled).toEqual(['old', 'early', 'later']);
        expect(testBus.health(application).status).toBe('UP');
      },
    );

    it.each(['earliest', 'latest'] as const)(
      "'earliest' reads it from its beginning, whatever offsetReset %s says",
      async (offsetReset) => {
        const application = await start({
          groupProtocol,
          offsetReset,
          onTopicRecreated: 'earliest',
        });
        await testBus.write('orders', '"old"');
        await testBus.runtime.advance(1_000);
        await recreate(afterMs);
        await testBus.runtime.advance(60_000);
        await testBus.write('orders', '"later"');
        await testBus.runtime.advance(60_000);
        expect(handled).toEqual(['old', 'early', 'later']);
        expect(await testBus.committed()).toBe(2);
        expect(testBus.health(application).status).toBe('UP');
      },
    );

    it.each(['earliest', 'latest'] as const)(
      "'latest' reads it from its end, whatever offsetReset %s says",
      async (offsetReset) => {
        const application = await start({ groupProtocol, offsetReset, onTopicRecreated: 'latest' });
        await testBus.write('orders', '"old"');
        await testBus.runtime.advance(1_000);
        await recreate(afterMs);
        await testBus.runtime.advance(60_000);
        await testBus.write('orders', '"later"');
        await testBus.runtime.advance(60_000);
        expect(handled).toEqual(['old', 'later']);
        expect(await testBus.committed()).toBe(2);
        expect(testBus.health(application).status).toBe('UP');
      },
    );
  });

  it("'stop' does not stop a topic that this process has not read before", async () => {
    const first = await start({ groupProtocol });
    await testBus.write('orders', '"old"');
    await testBus.runtime.advance(1_000);
    await recreate(0);
    await testBus.runtime.advance(60_000);
    await testBus.done(first.close());
    await start({ groupProtocol });
    await testBus.runtime.advance(60_000);
    expect(handled).toEqual(['old', 'early']);
  });

  it("'earliest' does not begin again when its partitions move to another session", async () => {
    await start({ groupProtocol, onTopicRecreated: 'earliest', concurrency: 2 });
    await testBus.write('orders', '"old"');
    await testBus.runtime.advance(1_000);
    await recreate(0);
    await testBus.runtime.advance(60_000);
    const second = await start({ groupProtocol, onTopicRecreated: 'earliest', concurrency: 2 });
    await testBus.runtime.advance(60_000);
    await testBus.done(second.close());
    await testBus.runtime.advance(60_000);
    expect(handled).toEqual(['old', 'early']);
  });
});
