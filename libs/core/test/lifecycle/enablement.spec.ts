import { memory } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { World, type Options } from '../support/application.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';

let world: World;
let handled: number;

beforeEach(async () => {
  world = new World();
  handled = 0;
  await world.topic('orders');
});

afterEach(() => world.end());

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(): void {
    handled += 1;
  }
}

const bindings = { orders: { topic: 'orders', groupId: 'shop' } };

const start = (options: Options): Promise<TestingModule> =>
  world.start({
    imports: [EventBusModule.forRoot({ runtime: world.runtime, bindings, ...options })],
    providers: [Orders],
  });

describe('a bus that is switched off', () => {
  const ways: readonly (readonly [string, () => Options, number])[] = [
    ['enabled: false', () => ({ enabled: false }), 0],
    ['enabled: false with a driver', () => ({ ...world.options(bindings), enabled: false }), 0],
    ["'if-configured' without brokers", () => ({ enabled: 'if-configured' }), 1],
    ["'if-configured' with blank ones", () => ({ enabled: 'if-configured', brokers: ' ' }), 1],
    ["the preset 'brokers' without brokers", () => ({ defaults: { preset: 'brokers' } }), 1],
  ];

  describe.each(ways)('by %s', (_name, options, warnings) => {
    let application: TestingModule;
    beforeEach(async () => {
      application = await start(options());
    });

    it('says so as often as somebody has to know', () => {
      const offs = world.said.warnings.filter((warning) => warning.includes('is off'));
      expect(offs).toHaveLength(warnings);
      const infos = world.said.infos.filter((info) => info === 'The event bus is switched off.');
      expect(infos).toHaveLength(1 - warnings);
    });

    it('is DISABLED, neither up nor down', () => {
      expect(world.health(application)).toMatchObject({ status: 'DISABLED', bindings: [] });
    });

    it('reads nothing', async () => {
      await world.write('orders', '1');
      expect(handled).toBe(0);
      expect(await world.groups()).toEqual([]);
    });

    it('refuses to publish and to register, and says why', async () => {
      const disabled = { code: 'EVENT_BUS_DISABLED', retriable: false };
      const publishing = application.get(EventPublisher).publish('orders', {});
      await expect(publishing).rejects.toMatchObject(disabled);
      const registering = application
        .get(EventBusConnector)
        .register('more', { topic: 'orders', groupId: 'more' }, () => undefined);
      await expect(registering).rejects.toMatchObject(disabled);
    });

    it('knows no binding that could be commanded', async () => {
      expect(application.get(EventBusConnector).listBindings()).toEqual([]);
      const command = application.get(LifecycleManager).start('orders');
      await expect(command).rejects.toMatchObject({ code: 'BINDING_NOT_FOUND' });
    });

    it('closes', async () => {
      await expect(world.done(application.close())).resolves.toBeUndefined();
    });
  });

  it('is still checked: wrong options stop the start', async () => {
    const wrong = start({ enabled: false, bindings: { orders: { topic: 'orders' } as never } });
    await expect(wrong).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
  });
});

describe("'if-configured'", () => {
  it('runs where a driver is given', async () => {
    const application = await start({ ...world.options(bindings), enabled: 'if-configured' });
    await world.write('orders', '1');
    expect(handled).toBe(1);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
    expect(world.said.warnings.filter((warning) => warning.includes('is off'))).toEqual([]);
  });
});

describe('a broker that cannot be reached', () => {
  it('does not stop the start: health is DOWN and says why, the bus recovers by itself', async () => {
    const outage = world.broker.faults.unplug({ clientId: 'bus' });
    const application = await start(world.options(bindings));
    await world.write('orders', '1');
    await world.runtime.advance(10_000);
    const {
      status,
      bindings: [binding],
    } = world.health(application);
    expect(status).toBe('DOWN');
    expect(binding).toMatchObject({ binding: 'orders', state: 'RUNNING', status: 'DOWN' });
    expect(binding?.reasons.join()).not.toBe('');
    expect(handled).toBe(0);

    outage.lift();
    await world.runtime.advance(60_000);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
    expect(handled).toBe(1);
  });

  it('for a while is a reason to be DOWN for that while', async () => {
    const application = await start(world.options(bindings));
    expect(world.health(application)).toMatchObject({ status: 'UP' });
    const outage = world.broker.faults.unplug({ clientId: 'bus' });
    await world.runtime.advance(60_000);
    expect(world.health(application)).toMatchObject({ status: 'DOWN' });
    outage.lift();
    await world.runtime.advance(60_000);
    await world.write('orders', '1');
    expect(world.health(application)).toMatchObject({ status: 'UP' });
    expect(handled).toBe(1);
  });

  it('does not hold up the close', async () => {
    world.broker.faults.unplug({ clientId: 'bus' });
    const application = await start(world.options(bindings));
    await expect(world.done(application.close())).resolves.toBeUndefined();
  });
});

describe('a topic that does not exist', () => {
  it('is DOWN, and read from its beginning once it does', async () => {
    const missing = { orders: { topic: 'not-yet', groupId: 'shop' } };
    const driver = memory({ broker: world.broker, clientId: 'bus', metadataMaxAgeMs: 1_000 });
    const application = await start({ driver, bindings: missing });
    await world.runtime.advance(5_000);
    const { status, bindings: found } = world.health(application);
    expect(status).toBe('DOWN');
    expect(found[0]?.reasons.join()).toContain('topic not-yet does not exist');
    await world.topic('not-yet');
    await world.write('not-yet', '1');
    await world.runtime.advance(60_000);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
    expect(handled).toBe(1);
  });
});
