import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { memory } from '@nest-event-bus/broker/memory';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;

beforeEach(async () => {
  testBus = new TestBus();
  await testBus.topic('orders');
});

afterEach(() => testBus.end());

describe('An application that shuts down', () => {
  it('can publish until the hooks of onModuleDestroy have ended, as its last requests do', async () => {
    const published: unknown[] = [];
    @Injectable()
    class LastRequest implements BeforeApplicationShutdown {
      constructor(@Inject(EventPublisher) private readonly publisher: EventPublisher) {}
      async beforeApplicationShutdown(): Promise<void> {
        published.push((await this.publisher.publish('orders', 1)).offset);
      }
    }
    const bindings = { orders: { topic: 'orders', groupId: 'shop' } };
    const bus = EventBusModule.forRoot({
      ...testBus.options(bindings),
      bindingsWithoutHandler: 'allow',
    });
    const application = await testBus.start({ imports: [bus], providers: [LastRequest] });
    await testBus.done(application.close());
    expect(published).toHaveLength(1);
    expect(await testBus.records('orders')).toHaveLength(1);
  });

  it('closes its drivers in the end, and has nothing to warn of', async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      handle(): void {}
    }
    const driver = memory({ broker: testBus.broker, clientId: 'bus' });
    const close = jest.spyOn(driver, 'close');
    await testBus.failureTopics();
    const application = await testBus.startOrders([Orders], {}, { driver });
    expect(close).not.toHaveBeenCalled();
    await testBus.done(application.close());
    expect(close).toHaveBeenCalledTimes(1);
    expect(testBus.log.warnings).toEqual([]);
  });
});
