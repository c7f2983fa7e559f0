import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import { createConsumingSession } from '../consuming/session/supervised-session.js';
import type { Delivery } from '../model/outcomes/delivery.js';
import { PartitionLane } from '../consuming/lanes/partition-lane.js';
import { succeeded, type Outcome } from '../model/outcomes/outcome.js';
import { binding, busWith, tier } from './bus-test-bed.spec-support.js';

type Process = (delivery: Delivery) => Outcome | Promise<Outcome>;

const quick: Partial<ResolvedBinding> = {
  topic: 'orders.events',
  groupId: 'order-service',
  sessionTimeoutMs: 6_000,
  heartbeatIntervalMs: 1_000,
  rebalance: { drainTimeoutMs: 2_000 },
};

/** Real sessions on a broker in this process, in virtual time. */
async function testBedWith(
  process: Process = () => succeeded,
  runtime = new VirtualRuntime(),
  broker = new MemoryBroker({ runtime }),
) {
  const driver = memory({ broker, clientId: 'bus' });
  const outside = memory({ broker, clientId: 'outside' });
  const handled: string[] = [];
  const handle = {
    process: (delivery: Delivery) => {
      handled.push(String(delivery.record.value));
      return process(delivery);
    },
  };
  const bus = busWith({
    real: { createSession: createConsumingSession, driver, runtime },
    handle,
  });
  const done = async <T>(work: Promise<T>): Promise<T> => {
    const seen = { isDone: false };
    const watch = work.finally(() => (seen.isDone = true));
    watch.catch(() => undefined);
    for (let tries = 0; tries < 2_000 && !seen.isDone; tries++) await runtime.advance(50);
    return watch;
  };
  const write = async (...values: readonly string[]): Promise<void> => {
    const records = values.map((value, at) => ({
      topic: 'orders.events',
      partition: at % 4,
      value,
    }));
    await done(outside.producer({ lingerMs: 0 }).send(records));
    await runtime.advance(1_000);
  };
  const topics = await done(outside.admin().topics());
  if (topics.length === 0)
    await done(outside.admin().createTopics([{ name: 'orders.events', partitions: 4 }]));
  const members = async () => (await done(outside.admin().describeGroup('order-service'))).members;
  return { ...bus, broker, runtime, handled, done, write, members };
}

describe('a binding on the memory broker', () => {
  it('has as many members as its concurrency, which own all partitions of the topic', async () => {
    const { add, lifecycle, done, members } = await testBedWith();
    const { mainContainer } = add(binding('orders', { ...quick, concurrency: 3 }));
    await lifecycle.start('orders');
    await done(mainContainer.joined());
    expect(await members()).toHaveLength(3);
    const owned = mainContainer.status.assignment.map(({ partition }) => partition);
    expect(owned.sort((left, right) => left - right)).toEqual([0, 1, 2, 3]);
    await done(lifecycle.destroy('orders'));
    expect(await members()).toHaveLength(0);
  });

  it('handles every record once over pause, resume, stop and start', async () => {
    const { add, lifecycle, done, write, handled, members } = await testBedWith();
    const { mainContainer } = add(binding('orders', { ...quick, concurrency: 2 }));
    await lifecycle.start('orders');
    await done(mainContainer.joined());
    await write('a', 'b', 'c');
    await done(lifecycle.pause('orders'));
    await write('d', 'e');
    expect([...handled].sort()).toEqual(['a', 'b', 'c']);
    expect(await members()).toHaveLength(2);
    await lifecycle.resume('orders');
    await write('f');
    await done(lifecycle.stop('orders'));
    await write('g', 'h');
    expect([...handled].sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    await lifecycle.start('orders');
    await done(mainContainer.joined());
    await write('i');
    expect([...handled].sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']);
    expect(mainContainer.counts).toMatchObject({ received: 9, succeeded: 9, inFlight: 0 });
    await done(lifecycle.destroy('orders'));
  });

  it('works without a retry topic, and needs its main topic', async () => {
    const { add, lifecycle, connector, runtime, done } = await testBedWith();
    const { retryTierContainers } = add(binding('orders', { ...quick, tiers: [tier(1)] }));
    await lifecycle.start('orders');
    await runtime.advance(20_000);
    expect(retryTierContainers[0]?.status.state).toBe('topic-missing');
    expect(connector.health()).toMatchObject({ status: 'UP' });
    add(binding('payments', { ...quick, topic: 'payments.events', groupId: 'payment-service' }));
    await lifecycle.start('payments');
    await runtime.advance(20_000);
    expect(connector.health()).toMatchObject({
      status: 'DOWN',
      bindings: [
        { binding: 'orders', status: 'UP' },
        { reasons: ['eventbus-payments: topic payments.events does not exist'] },
      ],
    });
    await done(Promise.all([lifecycle.destroy('orders'), lifecycle.destroy('payments')]));
  });

  it('starts while the broker is unreachable, is DOWN until it answers, and stops in bounded time', async () => {
    const { add, lifecycle, connector, broker, runtime, done } = await testBedWith();
    const cable = broker.faults.unplug({ clientId: 'bus' });
    const { mainContainer } = add(binding('orders', quick));
    expect(await lifecycle.start('orders')).toMatchObject({ state: 'RUNNING' });
    await runtime.advance(30_000);
    expect(mainContainer.status.state).toBe('retrying');
    expect(connector.health().status).toBe('DOWN');
    cable.lift();
    await done(mainContainer.joined());
    expect(connector.health().status).toBe('UP');
    broker.faults.unplug({ clientId: 'bus' });
    const cutAt = runtime.monotonic();
    await done(lifecycle.stop('orders'));
    expect(runtime.monotonic() - cutAt).toBeLessThanOrEqual(5_000);
    // The member could not leave, so the broker removes it after its session timeout.
    await runtime.advance(6_000);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('stays down while another process has its static member ids, until it is stopped and started', async () => {
    const first = await testBedWith();
    const { done, write, runtime, broker } = first;
    const second = await testBedWith(undefined, runtime, broker);
    const config = binding('orders', { ...quick, concurrency: 2, staticMembership: true });
    const [{ mainContainer }, twin] = [first.add(config), second.add(config)];
    await first.lifecycle.start('orders');
    await done(mainContainer.joined());
    await second.lifecycle.start('orders');
    await done(twin.mainContainer.joined());
    await runtime.advance(300_000);
    expect(mainContainer.status).toMatchObject({
      state: 'failed',
      error: { code: 'STATIC_MEMBER_FENCED' },
    });
    expect(first.connector.health()).toMatchObject({ status: 'DOWN' });
    expect(first.connector.health().bindings[0]?.reasons).toEqual([
      expect.stringMatching(/StaticMemberFencedError.* stopped and started/),
    ]);
    expect(second.connector.health().status).toBe('UP');
    await write('a', 'b', 'c', 'd');
    expect(first.handled).toEqual([]);
    expect([...second.handled].sort()).toEqual(['a', 'b', 'c', 'd']);
    // An operator stops the other one.
    await done(second.lifecycle.stop('orders'));
    await done(first.lifecycle.stop('orders'));
    await first.lifecycle.start('orders');
    await done(mainContainer.joined());
    expect(first.connector.health().status).toBe('UP');
    await write('e', 'f');
    expect([...first.handled].sort()).toEqual(['e', 'f']);
    await done(first.lifecycle.destroy('orders'));
    await done(second.lifecycle.destroy('orders'));
  });

  it('reports unfinished records at shutdown, and commits what is done', async () => {
    const { add, lifecycle, shutdown, done, write, runtime, members } = await testBedWith(
      ({ record }) =>
        String(record.value) === 'endless' ? new Promise<never>(() => {}) : succeeded,
    );
    const { mainContainer } = add(binding('orders', { ...quick, concurrency: 2 }));
    await lifecycle.start('orders');
    await done(mainContainer.joined());
    await write('done', 'endless');
    const report = await done(shutdown.drain());
    expect(report).toMatchObject({
      complete: false,
      bindings: [
        {
          binding: 'orders',
          abandoned: [{ topic: 'orders.events', partition: 1, offset: 0 }],
          errors: [],
        },
      ],
    });
    expect(report.durationMs).toBeLessThanOrEqual(31_000);
    expect(await members()).toHaveLength(0);
    expect(mainContainer.counts).toMatchObject({ succeeded: 1 });
    expect(runtime.pendingTimers).toBe(0);
  });

  it('ends each lane exactly once when the bus shuts down', async () => {
    const { add, lifecycle, shutdown, done, write } = await testBedWith();
    const { mainContainer } = add(binding('orders', { ...quick, concurrency: 2 }));
    await lifecycle.start('orders');
    await done(mainContainer.joined());
    await write('a', 'b', 'c', 'd');
    const end = jest.spyOn(PartitionLane.prototype, 'end');
    expect(await done(shutdown.drain())).toMatchObject({ complete: true });
    expect(end).toHaveBeenCalledTimes(4);
    end.mockRestore();
  });

  it('reports unfinished records at shutdown, too, if nothing can be committed', async () => {
    const { add, lifecycle, shutdown, done, write, broker, logger } = await testBedWith(
      ({ record }) =>
        String(record.value) === 'endless' ? new Promise<never>(() => {}) : succeeded,
    );
    const { mainContainer } = add(binding('orders', quick));
    await lifecycle.start('orders');
    await done(mainContainer.joined());
    broker.faults.refuse({ operation: 'commit' }, 'UNKNOWN_TOPIC_OR_PARTITION');
    await write('done', 'endless');
    const report = await done(shutdown.drain());
    expect(report).toMatchObject({
      complete: false,
      bindings: [{ abandoned: [{ topic: 'orders.events', partition: 1, offset: 0 }], errors: [] }],
    });
    expect(logger.lines).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('not finished and committed') }),
    );
  });
});
