import {
  ConnectionError,
  NoOffsetError,
  TopicRecreatedError,
  UnknownTopicError,
} from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import {
  BindingAlreadyExistsException,
  BindingNotFoundException,
  EventBusShuttingDownException,
} from '../../errors/container-errors.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import type { ContainerRegistration } from '../container-registration.js';
import { binding, busWith, processor, tier } from '../bus-test-bed.spec-support.js';
import { EventBusConnector } from './event-bus-connector.js';
import { noDriver } from '../fake-sessions.spec-support.js';

const properties = { topic: 'orders.events', groupId: 'order-service' };
const handler = (): void => {};

describe('EventBusConnector.register', () => {
  it('builds a binding, starts it and returns its state', async () => {
    const { connector, sessions, runtime } = busWith();
    const answer = await connector.register('orders', properties, handler);
    expect(answer).toMatchObject({ binding: 'orders', cluster: 'default', state: 'RUNNING' });
    await runtime.settle();
    expect(sessions.get('eventbus-orders-0').status.state).toBe('joined');
    expect(connector.getState('orders')).toEqual(answer);
    expect(connector.listBindings()).toEqual([answer]);
  });

  it('leaves a binding in state CREATED if autoStartup is false', async () => {
    const { connector, sessions } = busWith();
    const given = { ...properties, autoStartup: false };
    expect(await connector.register('orders', given, handler)).toMatchObject({ state: 'CREATED' });
    expect(sessions.all).toEqual([]);
  });

  it('uses the given cluster, and does not change the properties of the caller', async () => {
    const { connector } = busWith();
    const given = Object.freeze({ ...properties });
    const answer = await connector.register('orders', given, handler, { cluster: 'eu' });
    expect(answer.cluster).toBe('eu');
    const twice = { ...given, cluster: 'us' };
    await expect(
      connector.register('orders', twice, handler, { cluster: 'eu' }),
    ).rejects.toMatchObject({
      violations: [
        {
          rule: 'CLUSTER',
          binding: 'orders',
          path: 'bindings.orders.cluster',
          value: 'us',
          message: "the properties name cluster 'us', the options 'eu'. Name one of them, once.",
        },
      ],
    });
  });

  it('rejects a name that exists, even if both calls come at the same time', async () => {
    const { connector, sessions } = busWith();
    const results = await Promise.allSettled(
      [1, 2].map(() => connector.register('orders', properties, handler)),
    );
    expect(results).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: expect.any(BindingAlreadyExistsException) },
    ]);
    expect(sessions.all).toHaveLength(1);
  });

  it.each([
    '__proto__',
    'constructor',
    'toString',
    '',
    ' ',
    'a b',
    'a:b',
    '../etc',
    '-x',
    'x'.repeat(201),
  ])('rejects the name %p', async (name) => {
    const { connector } = busWith();
    await expect(connector.register(name, properties, handler)).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
    });
  });

  it('rejects a binding if the shutdown begins while the binding is prepared', async () => {
    const { registry, lifecycle, shutdownGate, runtime, build, sessions } = busWith();
    const prepared = new Deferred<() => ContainerRegistration>();
    const connector = new EventBusConnector({
      prepareBinding: () => prepared.promise,
      prepareDeclared: () => prepared.promise,
      ...{
        registry,
        lifecycle,
        shutdownGate,
        runtime,
        logger: { debug: jest.fn(), info: jest.fn(), warn: jest.fn(), error: jest.fn() },
      },
      isStopped: () => false,
      isDisabled: () => false,
    });
    const registering = connector.register('orders', properties, handler);
    shutdownGate.close();
    const builds = jest.fn(() => build(binding()));
    prepared.resolve(builds);
    await expect(registering).rejects.toBeInstanceOf(EventBusShuttingDownException);
    expect(builds).not.toHaveBeenCalled();
    expect([registry.listAll(), sessions.all]).toEqual([[], []]);
  });

  it('registers nothing if the start fails, so that the caller can repeat the call', async () => {
    const { connector, sessions } = busWith();
    sessions.refused.add('eventbus-orders-0');
    await expect(connector.register('orders', properties, handler)).rejects.toThrow(/refused/);
    expect(connector.listBindings()).toEqual([]);
    sessions.refused.clear();
    await expect(connector.register('orders', properties, handler)).resolves.toMatchObject({
      state: 'RUNNING',
    });
  });
});

describe('registering a binding that cannot start', () => {
  it('rejects with the error of the start, even if the binding was destroyed meanwhile', async () => {
    const { connector, sessions, registry } = busWith();
    sessions.refused.add('eventbus-orders-0');
    registry.onChange(({ registration }) => {
      if (registration.startFailure && registry.get('orders')) registry.unregister('orders');
    });
    await expect(connector.register('orders', properties, handler)).rejects.toThrow(
      'eventbus-orders-0 is refused',
    );
    expect(connector.listBindings()).toEqual([]);
  });
});

describe('EventBusConnector', () => {
  it('returns the new state of the binding for each command', async () => {
    const { connector } = busWith();
    await connector.register('orders', { ...properties, autoStartup: false }, handler);
    const note = { reason: 'release', by: 'ada' };
    const states = [];
    for (const command of ['start', 'pause', 'resume', 'stop', 'destroy'] as const)
      states.push((await connector[command]('orders', note)).state);
    expect(states).toEqual(['RUNNING', 'PAUSED', 'RUNNING', 'STOPPED', 'DESTROYED']);
    expect(() => connector.getState('orders')).toThrow(BindingNotFoundException);
  });

  it('finds a binding by its name and cluster if two clusters have the name', async () => {
    const { connector } = busWith();
    await connector.register('orders', properties, handler);
    await connector.register('orders', properties, handler, { cluster: 'eu' });
    await expect(connector.pause('orders')).rejects.toMatchObject({ code: 'AMBIGUOUS_BINDING' });
    await connector.pause({ cluster: 'eu', name: 'orders' });
    expect(connector.listBindings().map(({ state }) => state)).toEqual(['RUNNING', 'PAUSED']);
  });

  it('stops a binding before it unregisters it', async () => {
    const { connector, sessions } = busWith();
    await connector.register('orders', properties, handler);
    expect(await connector.unregister('orders')).toMatchObject({
      state: 'DESTROYED',
      lastCommand: { operation: 'destroy', reason: 'unregistered' },
    });
    expect([connector.listBindings(), sessions.open]).toEqual([[], []]);
  });
});

describe('the health of the bus', () => {
  async function joined(): Promise<ReturnType<typeof busWith>> {
    const bus = busWith();
    await bus.connector.register('orders', properties, handler);
    await bus.runtime.settle();
    return bus;
  }

  it('is UP if every container is in the state that was commanded, running or not', async () => {
    const { connector } = await joined();
    await connector.register('idle', { ...properties, autoStartup: false }, handler);
    expect(connector.health()).toMatchObject({
      status: 'UP',
      isShuttingDown: false,
      bindings: [
        { binding: 'orders', status: 'UP', reasons: [] },
        { binding: 'idle', state: 'CREATED', status: 'UP' },
      ],
    });
    await connector.stop('orders');
    expect(connector.health().status).toBe('UP');
  });

  it('is DISABLED if the options disable the bus', () => {
    const { connector } = busWith({ isDisabled: true });
    expect(connector.health()).toEqual({ status: 'DISABLED', isShuttingDown: false, bindings: [] });
  });

  it('is DOWN until a container has joined, and while it cannot join', async () => {
    const bus = busWith();
    bus.sessions.everyScript = { joins: 'never' };
    await bus.connector.register('orders', properties, handler);
    await bus.runtime.settle();
    expect(bus.connector.health().bindings[0]).toMatchObject({
      status: 'DOWN',
      reasons: ['eventbus-orders is starting'],
    });
    const session = bus.sessions.get('eventbus-orders-0');
    session.becomes({ state: 'retrying', error: new ConnectionError('refused') });
    expect(bus.connector.health().bindings[0]?.reasons).toEqual([
      'eventbus-orders is retrying: refused',
    ]);
    session.becomes({ state: 'retrying', error: new UnknownTopicError('orders.events') });
    expect(bus.connector.health().bindings[0]?.reasons).toEqual([
      'eventbus-orders: topic orders.events does not exist',
    ]);
  });

  it('stays UP without a retry topic, but not if a retry topic cannot be read', async () => {
    const bus = busWith();
    bus.add(binding('orders', { tiers: [tier(1)] }));
    bus.sessions.scripts.set('eventbus-orders-retry-1-0', { joins: 'never' });
    await bus.lifecycle.start('orders');
    await bus.runtime.settle();
    const session = bus.sessions.get('eventbus-orders-retry-1-0');
    session.becomes({ state: 'retrying', error: new UnknownTopicError('orders.events-retry-1') });
    expect(bus.connector.health().status).toBe('UP');
    session.becomes({ state: 'retrying', error: new Error('refused') });
    expect(bus.connector.health().status).toBe('DOWN');
  });

  it('is DEGRADED while something is paused, and names the paused binding or partition', async () => {
    const { connector, sessions, lifecycle } = await joined();
    await lifecycle.addPause('orders', 'circuit');
    expect(connector.health()).toMatchObject({
      status: 'DEGRADED',
      bindings: [{ reasons: ['paused: circuit'] }],
    });
    await lifecycle.removePause('orders', 'circuit');
    const partitionPauses = [
      { topic: 'orders.events', partition: 2, reasons: ['backoff' as const] },
      { topic: 'orders.events', partition: 3, reasons: ['delay' as const] },
      {
        topic: 'orders.events',
        partition: 5,
        reasons: ['backoff' as const],
        error: new Error('of jane@example.org'),
      },
      {
        topic: 'orders.events',
        partition: 6,
        reasons: ['backoff' as const],
        error: new SchemaRegistryUnavailableException('The registry did not answer.'),
      },
      {
        topic: 'orders.events',
        partition: 4,
        reasons: [],
        error: new NoOffsetError('orders.events', 4, 0, 'no offset'),
      },
      {
        topic: 'orders.events',
        partition: 7,
        reasons: ['backoff' as const],
        error: new TopicRecreatedError('orders.events', 7, 9, 'Another topic.'),
      },
    ];
    sessions.get('eventbus-orders-0').becomes({ partitionPauses });
    expect(connector.health().bindings[0]).toMatchObject({
      status: 'DEGRADED',
      reasons: [
        'eventbus-orders: orders.events-2 waits (backoff)',
        'eventbus-orders: orders.events-5 waits (backoff)',
        'eventbus-orders: orders.events-6 waits (backoff): The registry did not answer.',
        'eventbus-orders: orders.events-4 cannot be read on: no offset',
        'eventbus-orders: orders.events-7 waits (backoff): Another topic.',
      ],
    });
  });

  it('names the record that uses all half-open calls of its circuit, while its partition is assigned', async () => {
    const { factory, registry, lifecycle, runtime, sessions, connector } = busWith();
    const place = { topic: 'orders.events', partition: 2 };
    const halfOpenBlocker = { record: { ...place, offset: 7 } };
    const parts = { driver: noDriver, processor, tiers: 'omit', halfOpenBlocker } as const;
    registry.register(factory.create(binding('orders'), parts));
    await lifecycle.start('orders');
    await runtime.settle();
    const session = sessions.get('eventbus-orders-0');
    session.becomes({ assignment: [place] });
    expect(connector.health().bindings[0]).toMatchObject({
      status: 'DEGRADED',
      reasons: ['orders.events-2: offset 7 alone has all trial calls of the circuit'],
    });
    session.becomes({ assignment: [{ ...place, partition: 3 }] });
    expect(connector.health().status).toBe('UP');
  });

  it('is DOWN if a handler exceeds maxPollIntervalMs', async () => {
    const { connector, sessions, runtime } = await joined();
    sessions.get('eventbus-orders-0').becomes({ oldestHandlerSince: runtime.now() });
    await runtime.advance(600_000);
    expect(connector.health().status).toBe('UP');
    await runtime.advance(1);
    expect(connector.health().bindings[0]).toMatchObject({
      status: 'DOWN',
      reasons: [expect.stringContaining('maxPollIntervalMs')],
    });
  });

  it('is DOWN while the bus shuts down', async () => {
    const { connector, shutdown } = await joined();
    const draining = shutdown.drain();
    expect(connector.health()).toMatchObject({ status: 'DOWN', isShuttingDown: true });
    await draining;
  });
});

describe('EventBusConnector.decide', () => {
  it('finds a record in a retry topic as well', async () => {
    const { connector, lifecycle, sessions, runtime, add } = busWith();
    add(binding('orders', { tiers: [tier(1)] }));
    await lifecycle.start('orders');
    await runtime.settle();
    const place = { topic: 'orders.events.retry-1', partition: 0 };
    const waiting = { ...place, reasons: ['strict'] as const, undecidedOffset: 7 };
    sessions.get('eventbus-orders-retry-1-0').becomes({ partitionPauses: [waiting] });
    const decided = connector.decide('orders', place, 'skip');
    await expect(decided).resolves.toMatchObject({ binding: 'orders' });
    expect(sessions.get('eventbus-orders-retry-1-0').calls).toContain(
      'decide orders.events.retry-1-0 skip',
    );
  });
});
