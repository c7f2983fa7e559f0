import { memory } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { TestBus, type Options } from '../support/test-bus.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';

let testBus: TestBus;
let handled: number;

beforeEach(async () => {
  testBus = new TestBus();
  handled = 0;
  await testBus.topic('orders');
  await testBus.failureTopics();
});

afterEach(() => testBus.end());

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): void {
    handled += 1;
  }
}

const bindings = { orders: { topic: 'orders', groupId: 'shop' } };

const start = (options: Options): Promise<TestingModule> =>
  testBus.start({
    imports: [EventBusModule.forRoot({ runtime: testBus.runtime, bindings, ...options })],
    providers: [Orders],
  });

describe('A bus that is switched off', () => {
  const waysToSwitchOff: readonly (readonly [string, () => Options, number])[] = [
    ['enabled: false', () => ({ enabled: false }), 0],
    ['enabled: false with a driver', () => ({ ...testBus.options(bindings), enabled: false }), 0],
    ["'if-configured' without brokers", () => ({ enabled: 'if-configured' }), 1],
    ["'if-configured' with blank ones", () => ({ enabled: 'if-configured', brokers: ' ' }), 1],
    ["the preset 'brokers' without brokers", () => ({ defaults: { preset: 'brokers' } }), 1],
  ];

  describe.each(waysToSwitchOff)('by %s', (_name, options, warnings) => {
    let application: TestingModule;
    beforeEach(async () => {
      application = await start(options());
    });

    it('logs once that it is switched off, as a warning if no option asked for that', () => {
      const offs = testBus.log.warnings.filter((warning) => warning.includes('is off'));
      expect(offs).toHaveLength(warnings);
      const infos = testBus.log.infos.filter((info) => info === 'The event bus is switched off.');
      expect(infos).toHaveLength(1 - warnings);
    });

    it('has health DISABLED, neither UP nor DOWN', () => {
      expect(testBus.health(application)).toMatchObject({ status: 'DISABLED', bindings: [] });
    });

    it('reads nothing', async () => {
      await testBus.write('orders', '1');
      expect(handled).toBe(0);
      expect(await testBus.groups()).toEqual([]);
    });

    it('rejects publish() and register() with the reason', async () => {
      const disabled = { code: 'EVENT_BUS_DISABLED', retriable: false };
      const publishing = application.get(EventPublisher).publish('orders', {});
      await expect(publishing).rejects.toMatchObject(disabled);
      const registering = application
        .get(EventBusConnector)
        .register('more', { topic: 'orders', groupId: 'more' }, () => undefined);
      await expect(registering).rejects.toMatchObject(disabled);
    });

    it('lists no bindings and accepts no commands', async () => {
      expect(application.get(EventBusConnector).listBindings()).toEqual([]);
      const command = application.get(LifecycleManager).start('orders');
      await expect(command).rejects.toMatchObject({ code: 'BINDING_NOT_FOUND' });
    });

    it('lets the application close without an error', async () => {
      await expect(testBus.done(application.close())).resolves.toBeUndefined();
    });
  });

  it('still validates its options', async () => {
    const wrong = start({ enabled: false, bindings: { orders: { topic: 'orders' } as never } });
    await expect(wrong).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
  });
});

describe("enabled: 'if-configured'", () => {
  it('switches the bus on if a driver is given', async () => {
    const application = await start({ ...testBus.options(bindings), enabled: 'if-configured' });
    await testBus.write('orders', '1');
    expect(handled).toBe(1);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
    expect(testBus.log.warnings.filter((warning) => warning.includes('is off'))).toEqual([]);
  });
});

describe('An unreachable broker', () => {
  it('does not prevent the start: health is DOWN with the reason until the broker is reachable', async () => {
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    const application = await start(testBus.options(bindings));
    await testBus.write('orders', '1');
    await testBus.runtime.advance(10_000);
    const {
      status,
      bindings: [binding],
    } = testBus.health(application);
    expect(status).toBe('DOWN');
    expect(binding).toMatchObject({ binding: 'orders', state: 'RUNNING', status: 'DOWN' });
    expect(binding?.reasons.join()).not.toBe('');
    expect(handled).toBe(0);

    outage.lift();
    await testBus.runtime.advance(60_000);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
    expect(handled).toBe(1);
  });

  it('sets health to DOWN only while it is unreachable', async () => {
    const application = await start(testBus.options(bindings));
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
    const outage = testBus.broker.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(60_000);
    expect(testBus.health(application)).toMatchObject({ status: 'DOWN' });
    outage.lift();
    await testBus.runtime.advance(60_000);
    await testBus.write('orders', '1');
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
    expect(handled).toBe(1);
  });

  it('does not delay the close of the application', async () => {
    testBus.broker.faults.unplug({ clientId: 'bus' });
    const application = await start(testBus.options(bindings));
    await expect(testBus.done(application.close())).resolves.toBeUndefined();
  });
});

describe('A missing topic', () => {
  it('sets health to DOWN until it exists, and is then read from its beginning', async () => {
    const missing = { orders: { topic: 'not-yet', groupId: 'shop' } };
    const driver = memory({ broker: testBus.broker, clientId: 'bus', metadataMaxAgeMs: 1_000 });
    const application = await start({ driver, bindings: missing });
    await testBus.runtime.advance(5_000);
    const { status, bindings: found } = testBus.health(application);
    expect(status).toBe('DOWN');
    expect(found[0]?.reasons.join()).toContain('topic not-yet does not exist');
    await testBus.failureTopics('not-yet');
    await testBus.topic('not-yet');
    await testBus.write('not-yet', '1');
    await testBus.runtime.advance(60_000);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
    expect(handled).toBe(1);
  });
});
