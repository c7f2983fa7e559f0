import { memory, MemoryBroker } from '@nest-event-bus/broker/memory';
import { Injectable } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { DltAlert } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import type { EventRecord } from '../../src/model/records/event-record.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { TestBus, errorOf } from '../support/test-bus.spec-support.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';

let testBus: TestBus;
let asia: MemoryBroker;
let application: TestingModule;
let handled: string[];

const note = (record: EventRecord, { cluster, binding }: EventContext): void => {
  handled.push(`${cluster}:${binding} ${record.topic} ${JSON.stringify(record.value)}`);
};

@Injectable()
class Orders {
  @EventHandler('orders')
  handle(record: EventRecord, context: EventContext): void {
    note(record, context);
  }
}

@Injectable()
class Shipments {
  @EventHandler('shipments')
  handle(record: EventRecord, context: EventContext): void {
    note(record, context);
  }
}

const adminOf = (broker: MemoryBroker) => memory({ broker, clientId: 'outside' }).admin();

beforeEach(async () => {
  testBus = new TestBus();
  asia = new MemoryBroker({ runtime: testBus.runtime });
  handled = [];
  for (const broker of [testBus.broker, asia]) {
    const topics = ['orders', 'shipments', 'tenants'].map((name) => ({ name, partitions: 1 }));
    await testBus.done(adminOf(broker).createTopics(topics));
  }
  await testBus.failureTopics();
  const clusters = {
    europe: { driver: memory({ broker: testBus.broker, clientId: 'bus' }) },
    asia: { driver: memory({ broker: asia, clientId: 'bus' }) },
  };
  const bindings = {
    orders: { topic: 'orders', groupId: 'shop', cluster: 'europe' },
    shipments: { topic: 'shipments', groupId: 'shop', cluster: 'asia' },
  };
  const bus = EventBusModule.forRoot({ runtime: testBus.runtime, clusters, bindings });
  application = await testBus.start({ imports: [bus], providers: [Orders, Shipments] });
});

afterEach(() => testBus.end());

const connector = (): EventBusConnector => application.get(EventBusConnector);
const publish = async (...args: Parameters<EventPublisher['publish']>): Promise<void> => {
  await testBus.done(application.get(EventPublisher).publish(...args));
  await testBus.runtime.advance(500);
};
const groupsOf = async (broker: MemoryBroker): Promise<readonly string[]> =>
  (await testBus.done(adminOf(broker).groups())).map(({ groupId }) => groupId);
const lengthOf = async (broker: MemoryBroker, topic: string): Promise<number> =>
  (await testBus.done(adminOf(broker).watermarks(topic)))[0]?.high ?? 0;

describe('An application on two clusters', () => {
  it('reads each binding from its cluster', async () => {
    await publish('orders', 1);
    await publish('shipments', 2);
    expect(handled).toEqual(['europe:orders orders 1', 'asia:shipments shipments 2']);
  });

  it('publishes only to the cluster of the binding', async () => {
    await publish('shipments', 2);
    expect(await lengthOf(asia, 'shipments')).toBe(1);
    expect(await lengthOf(testBus.broker, 'shipments')).toBe(0);
  });

  it('names the binding in the error of an event that cannot be serialized', async () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const error = await errorOf(publish('shipments', cyclic));
    expect(String(error)).toContain("binding 'shipments'");
  });

  it('keeps one cluster running while the other is unreachable', async () => {
    asia.faults.unplug({ clientId: 'bus' });
    await testBus.runtime.advance(60_000);
    await publish('orders', 1);
    expect(handled).toEqual(['europe:orders orders 1']);
    const { status, bindings } = testBus.health(application);
    expect(status).toBe('DOWN');
    expect(bindings.map(({ cluster, status: one }) => `${cluster} ${one}`)).toEqual([
      'europe UP',
      'asia DOWN',
    ]);
  });

  it('refuses a binding of an unknown cluster', async () => {
    const bindings = { orders: { topic: 'orders', groupId: 'shop', cluster: 'asja' } };
    const driver = memory({ broker: asia });
    const bus = EventBusModule.forRoot({
      runtime: testBus.runtime,
      clusters: { asia: { driver } },
      bindings,
    });
    const error = await errorOf(testBus.start({ imports: [bus], providers: [Orders] }));
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    expect(String(error)).toContain('bindings.orders.cluster');
    expect(String(error)).toContain("'asia'");
  });
});

describe('A binding that its decorator describes', () => {
  const fresh = { topic: 'tenants', groupId: 'fresh' };
  const started = async (
    cluster: string,
    options: NonNullable<Parameters<typeof EventHandler>[1]>,
  ): Promise<unknown> => {
    @Injectable()
    class Fresh {
      @EventHandler('fresh', { ...options, cluster })
      handle(record: EventRecord, context: EventContext): void {
        note(record, context);
      }
    }
    const clusters = {
      default: { driver: memory({ broker: testBus.broker, clientId: 'bus' }) },
      asia: { driver: memory({ broker: asia, clientId: 'bus' }) },
    };
    const configured = options.topic === undefined && { bindings: { fresh } };
    const bus = EventBusModule.forRoot({ runtime: testBus.runtime, clusters, ...configured });
    return errorOf(
      testBus
        .start({ imports: [bus], providers: [Fresh] })
        .then((starting) => (application = starting)),
    );
  };

  it('is on the cluster that the decorator names', async () => {
    expect(await started('asia', fresh)).toBeUndefined();
    await publish('fresh', 1);
    expect(handled).toEqual(['asia:fresh tenants 1']);
  });

  it('is refused on an unknown cluster', async () => {
    expect(await started('asja', fresh)).toMatchObject({
      violations: [{ rule: 'UNKNOWN_CLUSTER', path: expect.stringContaining('cluster') as string }],
    });
  });

  it('stays on its cluster if another decorator names only a cluster', async () => {
    expect(await started('asia', {})).toMatchObject({
      problems: expect.arrayContaining([expect.stringContaining("but it is on 'default'")]),
    });
  });
});

describe('A binding that is registered at run time', () => {
  const tenants = { topic: 'tenants', groupId: 'tenants' };

  it('is on the cluster that the call names', async () => {
    await testBus.done(connector().register('tenants', tenants, note, { cluster: 'asia' }));
    await testBus.runtime.advance(500);
    expect(await groupsOf(asia)).toContain('tenants');
    expect(await groupsOf(testBus.broker)).not.toContain('tenants');
    await publish('tenants', 3);
    expect(handled).toEqual(['asia:tenants tenants 3']);
  });

  it('may have the name of a binding on another cluster, and then both run', async () => {
    const orders = { topic: 'orders', groupId: 'shop-of-asia' };
    await testBus.done(connector().register('orders', orders, note, { cluster: 'asia' }));
    await testBus.runtime.advance(500);
    await publish({ cluster: 'asia', name: 'orders' }, 1);
    await publish({ cluster: 'europe', name: 'orders' }, 2);
    expect(handled).toEqual(['asia:orders orders 1', 'europe:orders orders 2']);
  });

  it('is refused on an unknown cluster', async () => {
    const registering = connector().register('tenants', tenants, note, { cluster: 'africa' });
    await expect(registering).rejects.toThrow('africa');
    expect(connector().listBindings()).toHaveLength(2);
  });
});

describe('A binding name that exists on two clusters', () => {
  const both = ['asia', 'europe'];
  beforeEach(async () => {
    const orders = { topic: 'orders', groupId: 'shop' };
    await testBus.done(connector().register('orders', orders, note, { cluster: 'asia' }));
    await testBus.runtime.advance(500);
  });

  const lifecycle = (): LifecycleManager => application.get(LifecycleManager);
  type Use = (ref: string | { cluster: string; name: string }) => unknown;
  const uses: readonly (readonly [string, Use])[] = [
    ['getState', (ref) => connector().getState(ref)],
    ['registry.get', (ref) => application.get(ContainerRegistry).get(ref)],
    ['publish', (ref) => application.get(EventPublisher).publish(ref, 1)],
    ['pause', (ref) => lifecycle().pause(ref)],
    [
      'resume',
      (ref) =>
        lifecycle()
          .pause(ref)
          .then(() => lifecycle().resume(ref)),
    ],
    ['stop', (ref) => lifecycle().stop(ref)],
    [
      'start',
      (ref) =>
        lifecycle()
          .stop(ref)
          .then(() => lifecycle().start(ref)),
    ],
    ['destroy', (ref) => lifecycle().destroy(ref)],
    ['unregister', (ref) => connector().unregister(ref)],
  ];
  const using = async (use: Use, ref: Parameters<Use>[0]): Promise<unknown> => use(ref);

  it.each(uses)('is refused as ambiguous without a cluster: %s', async (_name, use) => {
    const error = await errorOf(testBus.done(using(use, 'orders')));
    expect(error).toMatchObject({ code: 'AMBIGUOUS_BINDING' });
    expect((error as { clusters: string[] }).clusters.toSorted()).toEqual(both);
  });

  it.each(uses)('is accepted with a cluster: %s', async (_name, use) => {
    for (const cluster of both) {
      const ref = { cluster, name: 'orders' };
      expect(await errorOf(testBus.done(using(use, ref)))).toBeUndefined();
    }
  });

  it('addresses one binding in a command and leaves the other unchanged', async () => {
    await testBus.done(lifecycle().pause({ cluster: 'asia', name: 'orders' }));
    expect(connector().getState({ cluster: 'asia', name: 'orders' }).state).toBe('PAUSED');
    expect(connector().getState({ cluster: 'europe', name: 'orders' }).state).toBe('RUNNING');
  });
});

describe('Alerts for bindings that share a name', () => {
  let alerts: string[] = [];
  const fail = (): never => {
    throw new Error('no');
  };

  @Injectable()
  class Failing {
    @EventHandler('orders')
    handle(): never {
      return fail();
    }
    @DltAlert('orders', { cluster: 'europe' })
    europe(): void {
      alerts.push('europe');
    }
    @DltAlert('orders', { cluster: 'asia' })
    asia(): void {
      alerts.push('asia');
    }
    @DltAlert('orders')
    onAnyCluster(): void {
      alerts.push('onAnyCluster');
    }
    @DltAlert(undefined, { cluster: 'asia' })
    all(): void {
      alerts.push('all of asia');
    }
  }

  it('are sent to alert methods that name the cluster of the binding or no cluster', async () => {
    const letters = { strategy: 'ALERT_AND_STORE', topic: 'tenants' } as const;
    const retry = { tier0: { maxAttempts: 1 }, tiers: [] };
    const orders = { topic: 'orders', groupId: 'failing', retry, dlt: letters };
    const clusters = {
      europe: { driver: memory({ broker: testBus.broker, clientId: 'bus' }) },
      asia: { driver: memory({ broker: asia, clientId: 'bus' }) },
    };
    const bindings = { orders: { ...orders, cluster: 'europe' } };
    const bus = EventBusModule.forRoot({ runtime: testBus.runtime, clusters, bindings });
    application = await testBus.start({ imports: [bus], providers: [Failing] });
    await testBus.done(connector().register('orders', orders, fail, { cluster: 'asia' }));
    await testBus.runtime.advance(500);
    for (const [cluster, expected] of [
      ['europe', ['europe', 'onAnyCluster']],
      ['asia', ['all of asia', 'asia', 'onAnyCluster']],
    ] as const) {
      alerts = [];
      await publish({ cluster, name: 'orders' }, 1);
      expect(alerts.toSorted()).toEqual(expected);
    }
    expect(testBus.log.warnings.join()).not.toContain('Nothing calls');
  });
});
