import { Injectable } from '@nestjs/common';
import { EventBusConnector } from '../container/event-bus-connector.js';
import { LifecycleManager } from '../container/lifecycle-manager.js';
import { EventHandler } from '../discovery/event-handler.js';
import { World } from './application.spec-support.js';

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle(): void {}
}

describe('a binding that starts', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    await world.topic('orders', 2);
  });
  afterEach(() => world.end());

  const warnings = (about: string): readonly string[] =>
    world.said.warnings.filter((text) => text.includes(about));

  it('warns of sessions that will have nothing to read', async () => {
    await world.startOrders([Handlers], { concurrency: 3 });
    expect(warnings('concurrency')).toEqual([
      "Binding 'orders' has concurrency 3, but topic 'orders' has 2 partition(s): 1 session(s) of this process will have nothing to read. Lower concurrency, or give the topic more partitions.",
    ]);
  });

  it('says nothing where there is a partition for each', async () => {
    await world.startOrders([Handlers], { concurrency: 2 });
    expect(warnings('concurrency')).toEqual([]);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])(
    'with dlt.verifyTopic %s warns %i times of a dead-letter topic that is missing',
    async (verifyTopic, times) => {
      await world.startOrders([Handlers], { provisioning: 'none', dlt: { verifyTopic } });
      expect(
        warnings("dead-letter topic 'orders.DLT' of binding 'orders' does not exist"),
      ).toHaveLength(times);
    },
  );

  it('says nothing of a dead-letter topic that exists', async () => {
    await world.topic('orders.graveyard');
    await world.startOrders([Handlers], { dlt: { verifyTopic: true, topic: 'orders.graveyard' } });
    expect(warnings('dead-letter')).toEqual([]);
  });

  it('is looked at when it is registered at run time, and when it is started again', async () => {
    const application = await world.startOrders([Handlers]);
    await world.topic('late');
    const late = { topic: 'late', groupId: 'late', concurrency: 4 };
    await world.done(application.get(EventBusConnector).register('late', late, () => undefined));
    await world.runtime.advance(500);
    expect(warnings("Binding 'late' has concurrency 4")).toHaveLength(1);
    const lifecycle = application.get(LifecycleManager);
    await world.done(lifecycle.stop('late'));
    await world.done(lifecycle.start('late'));
    await world.runtime.advance(500);
    expect(warnings("Binding 'late' has concurrency 4")).toHaveLength(2);
  });

  it('is not stopped by a cluster that does not answer', async () => {
    world.broker.faults.refuse({ operation: 'metadata' }, 'CLUSTER_AUTHORIZATION_FAILED');
    await world.startOrders([Handlers], { concurrency: 3 });
    expect(warnings('concurrency')).toEqual([]);
  });
});
