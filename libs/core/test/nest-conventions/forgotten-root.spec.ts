import { Inject, Injectable } from '@nestjs/common';
import { DltAlert } from '../../src/discovery/decorators/dlt-decorators.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EventBusModule } from '../../src/nest/event-bus.module.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { errorOf, TestBus } from '../support/test-bus.spec-support.js';

@Injectable()
class Orders {
  booted = 0;
  @EventHandler('orders')
  handle(): void {}
  onApplicationBootstrap(): void {
    this.booted++;
  }
}

abstract class Base {
  booted = 0;
  @EventHandler('orders')
  handle(): void {}
  onApplicationBootstrap(): void {
    this.booted++;
  }
}

@Injectable()
class Derived extends Base {
  @DltAlert('orders')
  alert(): void {}
}

/** Has no handler: it overrides the decorated method without the decorator. */
@Injectable()
class Overriding extends Base {
  override handle(): void {}
}

@Injectable()
class Shop {
  constructor(@Inject(EventPublisher) readonly publisher: EventPublisher) {}
}

let testBus: TestBus;

beforeEach(async () => {
  testBus = new TestBus();
  await testBus.topic('orders');
});

afterEach(() => testBus.end());

const warnings = () => testBus.log.warnings.filter((line) => line.includes('no event bus'));

describe('An application with handlers and without EventBusModule.forRoot', () => {
  it.each([Orders, Derived])('starts with one warning that says what to import', async (host) => {
    const application = await testBus.start({ providers: [host] });
    expect(warnings()).toEqual([
      `${host.name} has handlers of the event bus, but there is no event bus in this application: no record is read. Import EventBusModule.forRoot in the root module.`,
    ]);
    expect(application.get<Orders | Derived>(host).booted).toBe(1);
  });
});

describe('An application with EventBusModule.forRoot', () => {
  it('starts without that warning, and calls the own hooks of handler classes', async () => {
    const application = await testBus.startOrders([Derived, Overriding]);
    expect(warnings()).toEqual([]);
    expect(application.get(Derived).booted).toBe(1);
    expect(application.get(Overriding).booted).toBe(1);
  });

  it('starts without that warning if the bus is switched off', async () => {
    await testBus.start({
      imports: [EventBusModule.forRoot({ enabled: false })],
      providers: [Orders],
    });
    expect(warnings()).toEqual([]);
  });
});

describe('EventPublisher', () => {
  it('stops the start with its name if it is injected without EventBusModule.forRoot', async () => {
    const error = await errorOf(testBus.start({ providers: [Shop] }));
    expect(String(error)).toMatch(/can't resolve dependencies of the Shop.*EventPublisher/s);
  });
});

describe('EventBusModule.forFeature', () => {
  it('stops the start without EventBusModule.forRoot', async () => {
    const feature = EventBusModule.forFeature({
      bindings: { orders: { topic: 'orders', groupId: 'shop' } },
    });
    const error = await errorOf(testBus.start({ imports: [feature] }));
    expect(String(error)).toContain('Import EventBusModule.forRoot in the root module.');
  });
});
