import { memory } from '@nest-event-bus/broker/memory';
import {
  EventBusModule,
  EventHandler,
  EventPublisher,
  PayloadValidationException,
  type EventRecord,
} from '@nest-event-bus/core';
import { fromEnvironment } from '@nest-event-bus/core/presets';
import { EventBusHealthIndicator, EventBusHealthModule } from '@nest-event-bus/core/terminus';
import { Inject, Injectable, Module } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { IsInt } from 'class-validator';

class OrderPlaced {
  @IsInt()
  id!: number;
}

@Injectable()
class Shelf {
  readonly orders: OrderPlaced[] = [];
  readonly #arrivals: (() => void)[] = [];

  add(order: OrderPlaced): void {
    this.orders.push(order);
    for (const wake of this.#arrivals.splice(0)) wake();
  }

  async filled(): Promise<void> {
    if (this.orders.length === 0) await new Promise<void>((wake) => this.#arrivals.push(wake));
  }
}

// Vitest and similar runners emit no type metadata for injection, so @Inject names each dependency.
@Injectable()
class OrderHandlers {
  constructor(@Inject(Shelf) private readonly shelf: Shelf) {}

  @EventHandler('orders', { type: 'OrderPlaced', payload: OrderPlaced })
  onPlaced({ value }: EventRecord<OrderPlaced>): void {
    this.shelf.add(value);
  }
}

@Module({
  imports: [
    EventBusModule.forRootAsync({
      useFactory: async () => {
        const driver = memory();
        const failed = ['retry-1', 'retry-2', 'retry-3', 'DLT'].map(
          (each) => `orders.events.${each}`,
        );
        const topics = ['orders.events', ...failed].map((name) => ({ name, partitions: 3 }));
        await driver.admin().createTopics(topics);
        return { driver, bindings: { orders: { topic: 'orders.events', groupId: 'shop' } } };
      },
    }),
    TerminusModule,
    EventBusHealthModule,
  ],
  providers: [Shelf, OrderHandlers],
})
class OrdersModule {}

describe('An application with the event bus', () => {
  it('reads what it publishes, and is healthy', async () => {
    const testing = await Test.createTestingModule({ imports: [OrdersModule] }).compile();
    const app = await testing.init();
    await app.get(EventPublisher).publish('orders', { id: 7 }, { key: 'a', type: 'OrderPlaced' });
    const shelf = app.get(Shelf);
    await shelf.filled();
    expect(shelf.orders).toEqual([{ id: 7 }]);
    expect(shelf.orders[0]).toBeInstanceOf(OrderPlaced);

    const indicator = app.get(EventBusHealthIndicator, { strict: false });
    const health = app.get(HealthCheckService, { strict: false });
    const report = await health.check([() => indicator.isHealthy('eventbus')]);
    expect(report).toMatchObject({
      status: 'ok',
      details: { eventbus: { status: 'up', bindings: { orders: { state: 'RUNNING' } } } },
    });
    await app.close();
  });

  it('refuses to start if a handler has no binding', async () => {
    const root = EventBusModule.forRoot({ driver: memory(), bindings: {} });
    const testing = await Test.createTestingModule({
      imports: [root],
      providers: [Shelf, OrderHandlers],
    }).compile();
    await expect(testing.init()).rejects.toThrow('orders');
  });

  it('shares its errors and presets', () => {
    expect(PayloadValidationException.prototype).toBeInstanceOf(Error);
    expect(typeof fromEnvironment).toBe('function');
  });
});
