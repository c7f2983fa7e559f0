import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { PRESET_NAMES } from '../../src/config/reading/preset-name.js';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { ShutdownCoordinator } from '../../src/containers/shutdown/shutdown-coordinator.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let application: TestingModule;
let handled: string[];

@Injectable()
class Orders {
  @EventHandler('orders')
  handle({ value }: EventRecord): void {
    handled.push(`orders ${String(value)}`);
  }
}

beforeEach(async () => {
  testBus = new TestBus();
  handled = [];
  for (const name of ['orders', 'tenants']) await testBus.topic(name);
});

afterEach(() => testBus.end());

const connector = (): EventBusConnector => application.get(EventBusConnector);
const tenants = { topic: 'tenants', groupId: 'tenants' };
const note = ({ value }: EventRecord): void => void handled.push(`tenants ${String(value)}`);
const register = async (
  name = 'tenants',
  properties: Parameters<EventBusConnector['register']>[1] = tenants,
) => {
  const snapshot = await testBus.done(connector().register(name, properties, note));
  await testBus.runtime.advance(500);
  return snapshot;
};

describe('A binding that is registered at run time', () => {
  beforeEach(async () => {
    application = await testBus.startOrders([Orders]);
  });

  it('can be read, published to and controlled like a binding of the options', async () => {
    expect(await register()).toMatchObject({ binding: 'tenants', state: 'RUNNING' });
    await testBus.done(application.get(EventPublisher).publish('tenants', 1));
    await testBus.runtime.advance(500);
    expect(handled).toEqual(['tenants 1']);
    expect(await testBus.committed('tenants')).toBe(1);
    const paused = testBus.done(application.get(LifecycleManager).pause('tenants'));
    await expect(paused).resolves.toMatchObject({ state: 'PAUSED' });
  });

  it.each([{}, { cluster: 'default' }])(
    'is refused if its properties contain __proto__: %j',
    async (options) => {
      const properties: unknown = JSON.parse(
        '{ "topic": "tenants", "groupId": "tenants", "__proto__": { "concurrency": 9 } }',
      );
      const registering = connector().register('tenants', properties as never, note, options);
      await expect(testBus.done(registering)).rejects.toMatchObject({
        violations: [{ rule: 'FORBIDDEN_KEY', path: 'bindings.tenants.__proto__' }],
      });
    },
  );

  it('causes warnings about options without effect', async () => {
    await register('tenants', {
      ...tenants,
      topics: { partitions: 3 },
    });
    expect(testBus.log.warnings.filter((text) => text.includes('no effect'))).toEqual([
      "bindings.tenants.topics.partitions (the registration) has no effect: provisioning is not 'create': no topic is created.",
    ]);
  });

  it('does not disturb running bindings', async () => {
    const [before] = await testBus.members();
    await register();
    await testBus.write('orders', '1');
    expect(handled).toEqual(['orders 1']);
    expect((await testBus.members())[0]?.memberId).toBe(before?.memberId);
  });

  it('leaves its group when it is unregistered, and can be registered again', async () => {
    await register();
    await testBus.done(connector().unregister('tenants'));
    expect(await testBus.members('tenants')).toEqual([]);
    expect(
      connector()
        .listBindings()
        .map(({ binding }) => binding),
    ).toEqual(['orders']);
    await testBus.write('tenants', '1');
    expect(handled).toEqual([]);
    await register();
    expect(handled).toEqual(['tenants 1']);
  });

  it('leaves the groups of its retry topics too when it is unregistered', async () => {
    for (const topic of ['tenants.retry-1', 'tenants.DLT']) await testBus.topic(topic);
    await register('tenants', { ...tenants, retry: { tiers: [{ delayMs: 1_000 }] } });
    expect(await testBus.members('tenants.retry-1')).toHaveLength(1);
    await testBus.done(connector().unregister('tenants'));
    expect(await testBus.members('tenants.retry-1')).toEqual([]);
  });

  it.each(PRESET_NAMES)(
    'is read with preset %s even if its retry topics do not exist',
    async (preset) => {
      await register('tenants', { ...tenants, preset });
      await testBus.write('tenants', '1');
      await testBus.runtime.advance(60_000);
      expect(handled).toEqual(['tenants 1']);
      const { status, bindings } = testBus.health(application);
      expect(status).toBe('DEGRADED');
      expect(bindings.flatMap(({ reasons }) => reasons).join()).toContain('does not exist');
    },
  );

  it('may be started later', async () => {
    const snapshot = await register('tenants', { ...tenants, autoStartup: false });
    expect(snapshot).toMatchObject({ state: 'CREATED' });
    expect(await testBus.groups()).toEqual(['shop']);
    await testBus.failureTopics();
    await testBus.runtime.advance(10_000);
    expect(testBus.health(application)).toMatchObject({ status: 'UP' });
    await testBus.done(connector().start('tenants'));
    await testBus.write('tenants', '1');
    expect(handled).toEqual(['tenants 1']);
  });

  it.each([
    ['orders', 'BINDING_ALREADY_EXISTS'],
    ['__proto__', 'CONFIGURATION_INVALID'],
    ['constructor', 'CONFIGURATION_INVALID'],
    ['toString', 'CONFIGURATION_INVALID'],
    ['', 'CONFIGURATION_INVALID'],
    ['a:b', 'CONFIGURATION_INVALID'],
    ['..', 'CONFIGURATION_INVALID'],
    ['t'.repeat(101), 'CONFIGURATION_INVALID'],
    [10n as never, 'CONFIGURATION_INVALID'],
  ])('is refused if its name is "%s": %s', async (name, code) => {
    await expect(register(name)).rejects.toMatchObject({ code });
    expect(connector().listBindings()).toHaveLength(1);
    expect(await testBus.groups()).toEqual(['shop']);
  });

  it('is refused if a binding of this name exists, even with the same options', async () => {
    const again = register('orders', { topic: 'orders', groupId: 'shop' });
    await expect(again).rejects.toMatchObject({ code: 'BINDING_ALREADY_EXISTS' });
  });

  it.each<[string, object]>([
    ['a key that does not exist', { concurency: 2 }],
    ['an invalid value', { concurrency: 0 }],
    ['no topic', { topic: undefined }],
    ['the topic and group of another binding', { topic: 'orders', groupId: 'shop' }],
  ])('is refused if it has %s', async (_name, properties) => {
    const registering = register('tenants', { ...tenants, ...properties });
    await expect(registering).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(connector().listBindings()).toHaveLength(1);
  });

  it('is refused with a message that names the wrong option, without a word about the start of the bus', async () => {
    const registering = register('tenants', { ...tenants, concurrency: 0 });
    await expect(registering).rejects.toThrow(
      /^1 thing is wrong in the configuration of the event bus:\n {2}- bindings\.tenants\.concurrency/,
    );
  });

  it('is refused without a handler', async () => {
    const registering = connector().register('tenants', tenants, undefined as never);
    await expect(registering).rejects.toMatchObject({ code: 'HANDLER_DISCOVERY' });
    expect(connector().listBindings()).toHaveLength(1);
  });

  it('is refused if the same name is being registered at the same time', async () => {
    const results = await testBus.done(
      Promise.allSettled(
        ['tenants', 'tenants'].map((name) => connector().register(name, tenants, note)),
      ),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(connector().listBindings()).toHaveLength(2);
  });

  it('is refused if its topic and group are being registered at the same time', async () => {
    const results = await testBus.done(
      Promise.allSettled(
        ['tenants', 'others'].map((name) => connector().register(name, tenants, note)),
      ),
    );
    expect(results).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'CONFIGURATION_INVALID' } },
    ]);
    expect(connector().listBindings()).toHaveLength(2);
  });

  it('is refused while the bus shuts down', async () => {
    await testBus.done(application.get(LifecycleManager).stop('orders'));
    const draining = application.get(ShutdownCoordinator).drain();
    await expect(register()).rejects.toMatchObject({ code: 'EVENT_BUS_SHUTTING_DOWN' });
    await testBus.done(draining);
  });

  it('is drained on shutdown like the bindings of the options', async () => {
    const gate = new Deferred();
    const slow = async ({ value }: EventRecord): Promise<void> => {
      await gate.promise;
      handled.push(`slow ${String(value)}`);
    };
    await testBus.done(connector().register('tenants', tenants, slow));
    await testBus.runtime.advance(500);
    await testBus.write('tenants', '1');
    const closing = application.close();
    await testBus.runtime.advance(1_000);
    gate.resolve();
    await testBus.done(closing);
    expect(handled).toEqual(['slow 1']);
    expect(await testBus.committed('tenants')).toBe(1);
  });
});

describe('A binding with autoStartup: false', () => {
  it('has state CREATED and joins no group until it is started', async () => {
    application = await testBus.startOrders([Orders], { autoStartup: false });
    await testBus.write('orders', '1');
    expect(connector().getState('orders').state).toBe('CREATED');
    expect(await testBus.groups()).toEqual([]);
    await testBus.done(application.get(LifecycleManager).start('orders'));
    await testBus.runtime.advance(500);
    expect(handled).toEqual(['orders 1']);
  });
});

describe('A handler that still runs after its binding was stopped', () => {
  let started: number;
  let running: Deferred[];

  /** A handler that ignores its signal and runs until the test ends it. */
  const slow = async (): Promise<void> => {
    started += 1;
    const gate = new Deferred();
    running.push(gate);
    await gate.promise;
  };
  const endOne = async (): Promise<void> => {
    running.shift()?.resolve();
    await testBus.runtime.advance(10_000);
  };

  beforeEach(async () => {
    started = 0;
    running = [];
    application = await testBus.startOrders([Orders], {}, { shutdown: { drainTimeoutMs: 1_000 } });
    await testBus.done(connector().register('tenants', tenants, slow));
    await testBus.runtime.advance(500);
    await testBus.write('tenants', '1');
    expect(started).toBe(1);
  });

  afterEach(() => running.forEach((gate) => gate.resolve()));

  it.each<[string, () => Promise<unknown>]>([
    [
      'a stop and a start',
      async () => {
        await connector().stop('tenants');
        await connector().start('tenants');
      },
    ],
    [
      'an unregistration and a registration',
      async () => {
        await connector().unregister('tenants');
        await connector().register('tenants', tenants, slow);
      },
    ],
  ])('keeps its record from a second handler until it ends, after %s', async (_what, restart) => {
    await testBus.done(restart());
    await testBus.runtime.advance(30_000);
    expect(await testBus.members('tenants')).toHaveLength(1);
    expect([started, running.length]).toEqual([1, 1]);
    await endOne();
    expect([started, running.length]).toEqual([2, 1]);
    expect(await testBus.committed('tenants')).toBe(0);
    await endOne();
    expect(started).toBe(2);
    expect(await testBus.committed('tenants')).toBe(1);
  });
});
