import {
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { EventPublishException } from '../../src/errors/publish-errors.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { errorOf, TestBus } from '../support/test-bus.spec-support.js';

const published = { orders: { topic: 'orders', groupId: 'shop' } };

describe('Publishing while the application starts', () => {
  let bus: TestBus;
  beforeEach(() => {
    bus = new TestBus();
  });
  afterEach(() => bus.end());

  const module = (provisioning: 'create' | 'none') =>
    bus.module({
      bindings: { orders: { ...published.orders, provisioning } },
      bindingsWithoutHandler: 'allow',
    });

  @Injectable()
  class Announcer implements OnModuleInit, OnApplicationBootstrap {
    constructor(@Inject(EventPublisher) private readonly publisher: EventPublisher) {}
    async onModuleInit(): Promise<void> {
      await Promise.all(['1', '2'].map((event) => this.publisher.publish('orders', event)));
    }
    async onApplicationBootstrap(): Promise<void> {
      await this.publisher.publish('orders', '3');
    }
  }

  it('waits in onModuleInit until the topic was created', async () => {
    await bus.start({ imports: [module('create')], providers: [Announcer] });
    const records = await bus.records('orders');
    expect(records.map(({ value }) => value?.toString())).toEqual(['"1"', '"2"', '"3"']);
  });

  it('waits in a module that starts before the others', async () => {
    @Module({ providers: [Announcer] })
    class Inner {}
    @Module({ imports: [Inner] })
    class Outer {}
    await bus.start({ imports: [Outer, module('create')] });
    expect(await bus.records('orders')).toHaveLength(3);
  });

  it('fails within two seconds if the topic does not exist', async () => {
    const before = bus.runtime.monotonic();
    const error = await errorOf(bus.start({ imports: [module('none')], providers: [Announcer] }));
    expect(error).toBeInstanceOf(EventPublishException);
    expect(error).toMatchObject({
      fate: 'not-written',
      retriable: true,
      message: expect.stringMatching(/'orders'.*Topic \\?"orders\\?" does not exist/) as unknown,
    });
    expect(bus.runtime.monotonic() - before).toBeLessThan(2_000);
  });

  it('fails at once in a constructor, with the hook that is right', async () => {
    let attempt: Promise<unknown> | undefined;
    @Injectable()
    class Early {
      constructor(@Inject(EventPublisher) publisher: EventPublisher) {
        attempt = errorOf(publisher.publish('orders', '1'));
      }
    }
    await bus.start({ imports: [module('create')], providers: [Early] });
    expect(await attempt).toMatchObject({
      code: 'EVENT_BUS_NOT_READY',
      message: expect.stringContaining('use it from onModuleInit on') as unknown,
    });
  });
});
