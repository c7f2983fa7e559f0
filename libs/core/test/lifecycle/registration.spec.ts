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
import { World } from '../support/application.spec-support.js';

let world: World;
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
  world = new World();
  handled = [];
  for (const name of ['orders', 'tenants']) await world.topic(name);
});

afterEach(() => world.end());

const connector = (): EventBusConnector => application.get(EventBusConnector);
const tenants = { topic: 'tenants', groupId: 'tenants' };
const note = ({ value }: EventRecord): void => void handled.push(`tenants ${String(value)}`);
const register = async (
  name = 'tenants',
  properties: Parameters<EventBusConnector['register']>[1] = tenants,
) => {
  const snapshot = await world.done(connector().register(name, properties, note));
  await world.runtime.advance(500);
  return snapshot;
};

describe('a binding that is registered while the application runs', () => {
  beforeEach(async () => {
    application = await world.startOrders([Orders]);
  });

  it('is read, published to and commanded like any other', async () => {
    expect(await register()).toMatchObject({ binding: 'tenants', state: 'RUNNING' });
    await world.done(application.get(EventPublisher).publish('tenants', 1));
    await world.runtime.advance(500);
    expect(handled).toEqual(['tenants 1']);
    expect(await world.committed('tenants')).toBe(1);
    const paused = world.done(application.get(LifecycleManager).pause('tenants'));
    await expect(paused).resolves.toMatchObject({ state: 'PAUSED' });
  });

  it.each([{}, { cluster: 'default' }])(
    'is refused with __proto__ among its properties, and told so: %j',
    async (options) => {
      const properties: unknown = JSON.parse(
        '{ "topic": "tenants", "groupId": "tenants", "__proto__": { "concurrency": 9 } }',
      );
      const registering = connector().register('tenants', properties as never, note, options);
      await expect(world.done(registering)).rejects.toMatchObject({
        violations: [{ rule: 'FORBIDDEN_KEY', path: 'bindings.tenants.__proto__' }],
      });
    },
  );

  it('is told what of its properties has no effect', async () => {
    await register('tenants', {
      ...tenants,
      dlt: { replay: { maxReplays: 5 } },
      topics: { partitions: 3 },
    });
    expect(world.said.warnings.filter((text) => text.includes('no effect'))).toEqual([
      'These options are accepted, but have no effect in this version: bindings.tenants.dlt.replay.maxReplays.',
      "bindings.tenants.topics.partitions (the registration) has no effect: provisioning is not 'create': no topic is created.",
    ]);
  });

  it('does not disturb those that run', async () => {
    const [before] = await world.members();
    await register();
    await world.write('orders', '1');
    expect(handled).toEqual(['orders 1']);
    expect((await world.members())[0]?.memberId).toBe(before?.memberId);
  });

  it('leaves its group when it is unregistered, and may come back', async () => {
    await register();
    await world.done(connector().unregister('tenants'));
    expect(await world.members('tenants')).toEqual([]);
    expect(
      connector()
        .listBindings()
        .map(({ binding }) => binding),
    ).toEqual(['orders']);
    await world.write('tenants', '1');
    expect(handled).toEqual([]);
    await register();
    expect(handled).toEqual(['tenants 1']);
  });

  it.each(PRESET_NAMES)(
    'may have the preset %s; retry topics that do not exist do not hurt it',
    async (preset) => {
      await register('tenants', { ...tenants, preset });
      await world.write('tenants', '1');
      await world.runtime.advance(60_000);
      expect(handled).toEqual(['tenants 1']);
      expect(world.health(application)).toMatchObject({ status: 'UP' });
    },
  );

  it('may wait for its start', async () => {
    const snapshot = await register('tenants', { ...tenants, autoStartup: false });
    expect(snapshot).toMatchObject({ state: 'CREATED' });
    expect(await world.groups()).toEqual(['shop']);
    expect(world.health(application)).toMatchObject({ status: 'UP' });
    await world.done(connector().start('tenants'));
    await world.write('tenants', '1');
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
  ])('is refused under the name "%s": %s', async (name, code) => {
    await expect(register(name)).rejects.toMatchObject({ code });
    expect(connector().listBindings()).toHaveLength(1);
    expect(await world.groups()).toEqual(['shop']);
  });

  it('is refused for its name, too, where it is the very same binding', async () => {
    const again = register('orders', { topic: 'orders', groupId: 'shop' });
    await expect(again).rejects.toMatchObject({ code: 'BINDING_ALREADY_EXISTS' });
  });

  it.each<[string, object]>([
    ['a key that does not exist', { concurency: 2 }],
    ['a value that cannot be', { concurrency: 0 }],
    ['no topic', { topic: undefined }],
    ['the topic and group of another binding', { topic: 'orders', groupId: 'shop' }],
  ])('is refused with %s', async (_name, properties) => {
    const registering = register('tenants', { ...tenants, ...properties });
    await expect(registering).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(connector().listBindings()).toHaveLength(1);
  });

  it('is refused in words that fit: the bus has started long ago', async () => {
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

  it('is refused twice at the same time', async () => {
    const results = await world.done(
      Promise.allSettled(
        ['tenants', 'tenants'].map((name) => connector().register(name, tenants, note)),
      ),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(connector().listBindings()).toHaveLength(2);
  });

  it('is refused with the topic and group of one that is registered at the same time', async () => {
    const results = await world.done(
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

  it('is refused, like every way up, while the bus shuts down', async () => {
    await world.done(application.get(LifecycleManager).stop('orders'));
    const draining = application.get(ShutdownCoordinator).drain();
    await expect(register()).rejects.toMatchObject({ code: 'EVENT_BUS_SHUTTING_DOWN' });
    await world.done(draining);
  });

  it('is drained with the others', async () => {
    const gate = new Deferred();
    const slow = async ({ value }: EventRecord): Promise<void> => {
      await gate.promise;
      handled.push(`slow ${String(value)}`);
    };
    await world.done(connector().register('tenants', tenants, slow));
    await world.runtime.advance(500);
    await world.write('tenants', '1');
    const closing = application.close();
    await world.runtime.advance(1_000);
    gate.resolve();
    await world.done(closing);
    expect(handled).toEqual(['slow 1']);
    expect(await world.committed('tenants')).toBe(1);
  });
});

describe('a binding with autoStartup: false', () => {
  it('is CREATED and in no group until somebody starts it', async () => {
    application = await world.startOrders([Orders], { autoStartup: false });
    await world.write('orders', '1');
    expect(connector().getState('orders').state).toBe('CREATED');
    expect(await world.groups()).toEqual([]);
    await world.done(application.get(LifecycleManager).start('orders'));
    await world.runtime.advance(500);
    expect(handled).toEqual(['orders 1']);
  });
});

describe('a command', () => {
  type Command = 'start' | 'stop' | 'pause' | 'resume' | 'destroy';
  type Step = readonly [from: string, command: Command, to: string];
  const lifecycle = (): LifecycleManager => application.get(LifecycleManager);
  const command = (name: Command) => world.done(lifecycle()[name]('orders', { by: 'anna' }));
  const ways: Readonly<Record<string, readonly Command[]>> = {
    CREATED: [],
    RUNNING: ['start'],
    PAUSED: ['start', 'pause'],
    STOPPED: ['start', 'stop'],
    DESTROYED: ['destroy'],
  };
  const comeTo = async (state: string): Promise<void> => {
    application = await world.startOrders([Orders], { autoStartup: false });
    for (const each of ways[state] ?? []) await command(each);
  };

  const legal: readonly Step[] = [
    ['CREATED', 'start', 'RUNNING'],
    ['STOPPED', 'start', 'RUNNING'],
    ['RUNNING', 'stop', 'STOPPED'],
    ['PAUSED', 'stop', 'STOPPED'],
    ['RUNNING', 'pause', 'PAUSED'],
    ['PAUSED', 'resume', 'RUNNING'],
    ['CREATED', 'destroy', 'DESTROYED'],
    ['RUNNING', 'destroy', 'DESTROYED'],
    ['PAUSED', 'destroy', 'DESTROYED'],
    ['STOPPED', 'destroy', 'DESTROYED'],
  ];

  it.each(legal)('on %s: %s makes it %s, and says who asked', async (from, name, to) => {
    await comeTo(from);
    const lastCommand = { operation: name, by: 'anna', at: expect.any(Number) as number };
    await expect(command(name)).resolves.toMatchObject({
      binding: 'orders',
      cluster: 'default',
      state: to,
      lastCommand,
    });
  });

  const illegal: readonly Step[] = [
    ['CREATED', 'stop', 'RUNNING or PAUSED'],
    ['CREATED', 'pause', 'RUNNING'],
    ['CREATED', 'resume', 'PAUSED'],
    ['RUNNING', 'start', 'CREATED or STOPPED'],
    ['RUNNING', 'resume', 'PAUSED'],
    ['PAUSED', 'start', 'CREATED or STOPPED'],
    ['PAUSED', 'pause', 'RUNNING'],
    ['STOPPED', 'stop', 'RUNNING or PAUSED'],
    ['STOPPED', 'pause', 'RUNNING'],
    ['STOPPED', 'resume', 'PAUSED'],
  ];

  it.each(illegal)('on %s: %s requires %s, and says so', async (from, name, required) => {
    await comeTo(from);
    const message = `Cannot ${name} binding 'orders': current state is ${from}, ${name} requires ${required}`;
    await expect(command(name)).rejects.toMatchObject({ code: 'INVALID_CONTAINER_STATE', message });
    expect(connector().getState('orders').state).toBe(from);
  });

  it.each<Command>(['start', 'stop', 'pause', 'resume', 'destroy'])(
    '%s on a binding that is gone names those that are there',
    async (name) => {
      await comeTo('DESTROYED');
      await expect(command(name)).rejects.toMatchObject({
        code: 'BINDING_NOT_FOUND',
        message: "There is no binding 'orders'. None is registered.",
      });
    },
  );

  it('resume goes on behind what was handled before', async () => {
    await comeTo('RUNNING');
    await world.write('orders', '1', '2');
    await command('pause');
    await world.write('orders', '3');
    expect(handled).toEqual(['orders 1', 'orders 2']);
    await command('resume');
    await world.runtime.advance(6_000);
    expect(handled).toEqual(['orders 1', 'orders 2', 'orders 3']);
  });

  it('stop and start go on behind what was handled before', async () => {
    await comeTo('RUNNING');
    await world.write('orders', '1');
    await command('stop');
    expect(await world.members()).toEqual([]);
    await world.write('orders', '2');
    await command('start');
    await world.runtime.advance(1_000);
    expect(handled).toEqual(['orders 1', 'orders 2']);
  });
});

describe('a handler that outlives its binding', () => {
  let begun: number;
  let running: Deferred[];

  /** Ends when the test says so, whatever its signal says. */
  const slow = async (): Promise<void> => {
    begun += 1;
    const gate = new Deferred();
    running.push(gate);
    await gate.promise;
  };
  const endOne = async (): Promise<void> => {
    running.shift()?.resolve();
    await world.runtime.advance(10_000);
  };

  beforeEach(async () => {
    begun = 0;
    running = [];
    application = await world.startOrders([Orders], {}, { shutdown: { drainTimeoutMs: 1_000 } });
    await world.done(connector().register('tenants', tenants, slow));
    await world.runtime.advance(500);
    await world.write('tenants', '1');
    expect(begun).toBe(1);
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
  ])('is alone with its record after %s', async (_what, comeBack) => {
    await world.done(comeBack());
    await world.runtime.advance(30_000);
    expect(await world.members('tenants')).toHaveLength(1);
    expect([begun, running.length]).toEqual([1, 1]);
    await endOne();
    expect([begun, running.length]).toEqual([2, 1]);
    expect(await world.committed('tenants')).toBe(0);
    await endOne();
    expect(begun).toBe(2);
    expect(await world.committed('tenants')).toBe(1);
  });
});
