import { Deferred } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
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
  await testBus.topic('orders');
});

afterEach(() => testBus.end());

describe('A lifecycle command', () => {
  type Command = 'start' | 'stop' | 'pause' | 'resume' | 'destroy';
  type Step = readonly [from: string, command: Command, to: string];
  const lifecycle = (): LifecycleManager => application.get(LifecycleManager);
  const command = (name: Command) => testBus.done(lifecycle()[name]('orders', { by: 'anna' }));
  const commandsTo: Readonly<Record<string, readonly Command[]>> = {
    CREATED: [],
    RUNNING: ['start'],
    PAUSED: ['start', 'pause'],
    STOPPED: ['start', 'stop'],
    DESTROYED: ['destroy'],
  };
  const bringTo = async (state: string): Promise<void> => {
    application = await testBus.startOrders([Orders], { autoStartup: false });
    for (const each of commandsTo[state] ?? []) await command(each);
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

  it.each(legal)(
    'on %s: %s changes the state to %s, and stores who gave the command',
    async (from, name, to) => {
      await bringTo(from);
      const lastCommand = { operation: name, by: 'anna', at: expect.any(Number) as number };
      await expect(command(name)).resolves.toMatchObject({
        binding: 'orders',
        cluster: 'default',
        state: to,
        lastCommand,
      });
    },
  );

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

  it.each(illegal)('on %s: %s is refused, because it requires %s', async (from, name, required) => {
    await bringTo(from);
    const message = `Cannot ${name} binding 'orders': current state is ${from}, ${name} requires ${required}`;
    await expect(command(name)).rejects.toMatchObject({ code: 'INVALID_CONTAINER_STATE', message });
    expect(application.get(EventBusConnector).getState('orders').state).toBe(from);
  });

  it.each<Command>(['start', 'stop', 'pause', 'resume', 'destroy'])(
    '%s on an unknown binding is refused with a list of the bindings',
    async (name) => {
      await bringTo('DESTROYED');
      await expect(command(name)).rejects.toMatchObject({
        code: 'BINDING_NOT_FOUND',
        message:
          "There is no binding 'orders'. None is registered: add it to the bindings of the event bus, or register it with EventBusConnector.",
      });
    },
  );

  it('pause commits what is done, although another record of the slice still runs', async () => {
    const [started, finish] = [new Deferred(), new Deferred()];
    @Injectable()
    class SlowSecond {
      @EventHandler('orders')
      async handle({ value }: EventRecord): Promise<void> {
        if (value === 1) return;
        started.resolve();
        await finish.promise;
      }
    }
    await testBus.write('orders', '1', '2');
    application = await testBus.startOrders([SlowSecond], { ackMode: 'MANUAL' });
    await testBus.done(started.promise);
    expect(await testBus.committed()).toBe(0);
    await testBus.done(lifecycle().pause('orders'));
    expect(await testBus.committed()).toBe(1);
    finish.resolve();
  });

  it('resume continues with the record after the last handled one', async () => {
    await bringTo('RUNNING');
    await testBus.write('orders', '1', '2');
    await command('pause');
    await testBus.write('orders', '3');
    expect(handled).toEqual(['orders 1', 'orders 2']);
    await command('resume');
    await testBus.runtime.advance(6_000);
    expect(handled).toEqual(['orders 1', 'orders 2', 'orders 3']);
  });

  it('start after stop continues with the record after the last handled one', async () => {
    await bringTo('RUNNING');
    await testBus.write('orders', '1');
    await command('stop');
    expect(await testBus.members()).toEqual([]);
    await testBus.write('orders', '2');
    await command('start');
    await testBus.runtime.advance(1_000);
    expect(handled).toEqual(['orders 1', 'orders 2']);
  });
});
