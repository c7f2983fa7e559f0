import { Deferred } from '@nest-event-bus/broker/runtime';
import {
  BindingNotFoundException,
  EventBusShuttingDownException,
  InvalidContainerStateException,
  type ContainerOperation,
} from '../../errors/container-errors.js';
import { ContainerState } from '../../model/states/container-state.js';
import { binding, busWith, DRAIN_TIMEOUT_MS, tier } from '../bus-test-bed.spec-support.js';
import { DRAINED } from '../fake-sessions.spec-support.js';

type Bus = ReturnType<typeof busWith>;

/** [current state, command, next state or exact error message] */
const TABLE: readonly (readonly [ContainerState, ContainerOperation, ContainerState | string])[] = [
  ['CREATED', 'start', 'RUNNING'],
  [
    'CREATED',
    'stop',
    "Cannot stop binding 'orders': current state is CREATED, stop requires RUNNING or PAUSED",
  ],
  [
    'CREATED',
    'pause',
    "Cannot pause binding 'orders': current state is CREATED, pause requires RUNNING",
  ],
  [
    'CREATED',
    'resume',
    "Cannot resume binding 'orders': current state is CREATED, resume requires PAUSED",
  ],
  ['CREATED', 'destroy', 'DESTROYED'],
  [
    'RUNNING',
    'start',
    "Cannot start binding 'orders': current state is RUNNING, start requires CREATED or STOPPED",
  ],
  ['RUNNING', 'stop', 'STOPPED'],
  ['RUNNING', 'pause', 'PAUSED'],
  [
    'RUNNING',
    'resume',
    "Cannot resume binding 'orders': current state is RUNNING, resume requires PAUSED",
  ],
  ['RUNNING', 'destroy', 'DESTROYED'],
  [
    'PAUSED',
    'start',
    "Cannot start binding 'orders': current state is PAUSED, start requires CREATED or STOPPED",
  ],
  ['PAUSED', 'stop', 'STOPPED'],
  [
    'PAUSED',
    'pause',
    "Cannot pause binding 'orders': current state is PAUSED, pause requires RUNNING",
  ],
  ['PAUSED', 'resume', 'RUNNING'],
  ['PAUSED', 'destroy', 'DESTROYED'],
  ['STOPPED', 'start', 'RUNNING'],
  [
    'STOPPED',
    'stop',
    "Cannot stop binding 'orders': current state is STOPPED, stop requires RUNNING or PAUSED",
  ],
  [
    'STOPPED',
    'pause',
    "Cannot pause binding 'orders': current state is STOPPED, pause requires RUNNING",
  ],
  [
    'STOPPED',
    'resume',
    "Cannot resume binding 'orders': current state is STOPPED, resume requires PAUSED",
  ],
  ['STOPPED', 'destroy', 'DESTROYED'],
  [
    'DESTROYED',
    'start',
    "Cannot start binding 'orders': current state is DESTROYED, start requires CREATED or STOPPED",
  ],
  [
    'DESTROYED',
    'stop',
    "Cannot stop binding 'orders': current state is DESTROYED, stop requires RUNNING or PAUSED",
  ],
  [
    'DESTROYED',
    'pause',
    "Cannot pause binding 'orders': current state is DESTROYED, pause requires RUNNING",
  ],
  [
    'DESTROYED',
    'resume',
    "Cannot resume binding 'orders': current state is DESTROYED, resume requires PAUSED",
  ],
  [
    'DESTROYED',
    'destroy',
    "Cannot destroy binding 'orders': current state is DESTROYED, destroy requires CREATED or RUNNING or PAUSED or STOPPED",
  ],
];

const ROAD_TO: Readonly<Record<ContainerState, readonly ContainerOperation[]>> = {
  CREATED: [],
  RUNNING: ['start'],
  PAUSED: ['start', 'pause'],
  STOPPED: ['start', 'stop'],
  DESTROYED: ['destroy'],
};

/**
 * Issues commands without awaiting them, so that later ones find the binding even if an earlier one
 * destroys it.
 */
async function inState(bus: Bus, state: ContainerState, operation: ContainerOperation) {
  const earlier = ROAD_TO[state].map((step) => bus.lifecycle[step]('orders'));
  const result = bus.lifecycle[operation]('orders', { reason: 'test', by: 'ada' });
  await Promise.all(earlier);
  return result;
}

describe('a command in each state', () => {
  it('does what the table says', () => {
    expect(TABLE).toHaveLength(Object.keys(ContainerState).length * 5);
    expect(new Set(TABLE.map(([state, operation]) => `${state} ${operation}`)).size).toBe(25);
  });

  it.each(TABLE.filter(([, , outcome]) => outcome in ContainerState))(
    '%s, %s: leads to %s',
    async (state, operation, outcome) => {
      const bus = busWith();
      bus.add();
      expect(await inState(bus, state, operation)).toEqual({
        binding: 'orders',
        cluster: 'default',
        state: outcome,
        since: bus.runtime.now(),
        remainingPauses: outcome === 'PAUSED' ? ['operator'] : [],
        lastCommand: { operation, reason: 'test', by: 'ada', at: bus.runtime.now() },
      });
      expect(bus.registry.get('orders')?.state).toBe(outcome === 'DESTROYED' ? undefined : outcome);
    },
  );

  it.each(TABLE.filter(([, , outcome]) => !(outcome in ContainerState)))(
    '%s, %s: %s',
    async (state, operation, message) => {
      const bus = busWith();
      bus.add();
      const error = await inState(bus, state, operation).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InvalidContainerStateException);
      expect(error).toMatchObject({ message, binding: 'orders', operation, currentState: state });
      if (state !== 'DESTROYED') expect(bus.registry.require('orders').state).toBe(state);
    },
  );

  it('is refused for a name that is not known', async () => {
    await expect(busWith().lifecycle.start('orders')).rejects.toBeInstanceOf(
      BindingNotFoundException,
    );
  });

  it('does nothing to a new binding of the same name if its own was destroyed while it waited', async () => {
    const { lifecycle, registry, build, add } = busWith();
    add();
    const destroyed = lifecycle.destroy('orders');
    const late = lifecycle.start('orders');
    registry.onChange(({ kind }) => {
      if (kind === 'unregistered') registry.register(build(binding()));
    });
    await destroyed;
    await expect(late).rejects.toMatchObject({ currentState: 'DESTROYED' });
    expect(registry.require('orders').state).toBe('CREATED');
  });
});

describe('a binding with tiers', () => {
  const withTiers = binding('orders', { concurrency: 2, tiers: [tier(1), tier(2)] });

  function callsAfter(bus: Bus): Record<string, readonly string[]> {
    return Object.fromEntries(bus.sessions.all.map(({ id, calls }) => [id, calls]));
  }

  it('does what it is told in all its containers', async () => {
    const bus = busWith();
    bus.add(withTiers);
    await bus.lifecycle.start('orders');
    await bus.runtime.settle();
    await bus.lifecycle.pause('orders');
    await bus.lifecycle.resume('orders');
    await bus.lifecycle.destroy('orders');
    const all = ['start', 'pause operator', 'resume operator', `close ${DRAIN_TIMEOUT_MS}`];
    expect(callsAfter(bus)).toEqual({
      'eventbus-orders-0': all,
      'eventbus-orders-1': all,
      'eventbus-orders-retry-1-0': all,
      'eventbus-orders-retry-2-0': all,
    });
  });

  it('starts whole or not at all', async () => {
    const bus = busWith();
    bus.add(withTiers);
    bus.sessions.refused.add('eventbus-orders-retry-2-0');
    await expect(bus.lifecycle.start('orders')).rejects.toBeInstanceOf(AggregateError);
    expect(bus.registry.require('orders')).toMatchObject({
      state: 'CREATED',
      lastCommand: undefined,
    });
    expect(bus.sessions.open).toEqual([]);
    bus.sessions.refused.clear();
    await bus.lifecycle.start('orders');
    await bus.runtime.settle();
    expect(bus.sessions.open).toHaveLength(4);
  });

  it('starts after a stop with fresh sessions', async () => {
    const bus = busWith();
    bus.add(withTiers);
    await bus.lifecycle.start('orders');
    await bus.lifecycle.stop('orders');
    await bus.lifecycle.start('orders');
    expect(bus.sessions.all).toHaveLength(8);
    expect(bus.sessions.open).toHaveLength(4);
  });
});

describe('a command that fails half-way', () => {
  async function running(scripts: Record<string, object>): Promise<Bus> {
    const bus = busWith();
    for (const [id, script] of Object.entries(scripts)) bus.sessions.scripts.set(id, script);
    bus.add(binding('orders', { concurrency: 2, tiers: [tier(1)] }));
    await bus.lifecycle.start('orders');
    return bus;
  }
  const fails = (message: string) => (): Promise<never> => Promise.reject(new Error(message));

  it.each([
    ['stop', 'STOPPED'],
    ['destroy', 'DESTROYED'],
  ] as const)(
    '%s: does the rest, is %s all the same, and names all errors',
    async (operation, state) => {
      const bus = await running({
        'eventbus-orders-0': { close: fails('commit refused') },
        'eventbus-orders-retry-1-0': { close: fails('socket gone') },
      });
      const error: AggregateError = await bus.lifecycle[operation]('orders').then(
        () => Promise.reject(new Error('It succeeded.')),
        (thrown: AggregateError) => thrown,
      );
      expect(error).toBeInstanceOf(AggregateError);
      expect(error.message).toContain(`Binding 'orders' is ${state}`);
      expect(error.errors.map(({ message }: Error) => message)).toEqual([
        'commit refused',
        'socket gone',
      ]);
      expect(
        bus.sessions.all.every(({ calls }) => calls.includes(`close ${DRAIN_TIMEOUT_MS}`)),
      ).toBe(true);
      expect(bus.registry.get('orders')?.state).toBe(state === 'DESTROYED' ? undefined : state);
      expect(bus.lifecycle.busyBindings).toBe(0);
    },
  );

  it('pause: is PAUSED all the same, and can be resumed', async () => {
    const bus = await running({ 'eventbus-orders-0': { pause: fails('commit refused') } });
    await expect(bus.lifecycle.pause('orders')).rejects.toThrow(
      "Binding 'orders' is PAUSED, but not everything that belongs to pause succeeded: commit refused",
    );
    expect(bus.sessions.open.every(({ pauses }) => pauses.has('operator'))).toBe(true);
    await expect(bus.lifecycle.resume('orders')).resolves.toMatchObject({ state: 'RUNNING' });
  });

  it('logs which records are redelivered if handlers exceeded their time', async () => {
    const abandoned = [{ topic: 'orders.events', partition: 0, offset: 31 }];
    const bus = await running({
      'eventbus-orders-0': { close: async () => ({ complete: false, abandoned }) },
    });
    await bus.lifecycle.stop('orders');
    expect(bus.logger.lines).toMatchObject([
      { level: 'warn', context: { binding: 'orders', redelivered: ['orders.events-0@31'] } },
    ]);
  });
});

describe('concurrent commands', () => {
  it('run in turn on one binding, and do not wait for another binding', async () => {
    const gate = new Deferred();
    const bus = busWith();
    bus.sessions.scripts.set('eventbus-orders-0', {
      close: () => gate.promise.then(() => DRAINED),
    });
    bus.add();
    bus.add(binding('payments'));
    await Promise.all([bus.lifecycle.start('orders'), bus.lifecycle.start('payments')]);
    const stopping = bus.lifecycle.stop('orders');
    const startingAgain = bus.lifecycle.start('orders');
    await expect(bus.lifecycle.pause('payments')).resolves.toMatchObject({ state: 'PAUSED' });
    expect(bus.registry.require('orders').state).toBe('RUNNING');
    gate.resolve();
    await expect(stopping).resolves.toMatchObject({ state: 'STOPPED' });
    await expect(startingAgain).resolves.toMatchObject({ state: 'RUNNING' });
  });

  it('can stop but not start bindings while the bus shuts down', async () => {
    const { lifecycle, shutdownGate, add } = busWith();
    add();
    await lifecycle.start('orders');
    await lifecycle.pause('orders');
    shutdownGate.close();
    await expect(lifecycle.resume('orders')).rejects.toBeInstanceOf(EventBusShuttingDownException);
    await lifecycle.stop('orders');
    await expect(lifecycle.start('orders')).rejects.toThrow(
      "Cannot start binding 'orders': the event bus is shutting down.",
    );
    await lifecycle.destroy('orders');
  });
});
